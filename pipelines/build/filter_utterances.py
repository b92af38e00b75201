"""The second step of a build: of all that was measured, what is kept.

Every verdict follows from columns alone, so another threshold needs no decoding. A source is judged by itself, so
that another source beside it changes nothing; only whether a text stands in both splits is asked of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from pipelines.build.near_duplicates import bits_to_earlier
from pipelines.build.prepare_shards import disk_message
from pipelines.build.splits import text_key
from pipelines.build.staging import VERDICT, Staging
from pipelines.config import BuildConfig
from preprocess.checks import DUPLICATE_BOUND, REPEAT_BOUND, CheckConfig, failures, unknown_fraction
from preprocess.corpora.source import SourceConfig
from preprocess.quality import HASH_BITS
from preprocess.utterance import Reason
from shared.errors import UserError
from shared.files import write_json
from shared.hashing import sort_key
from shared.layout import ShardName
from shared.storage_path import StoragePath
from shared.tables import take_rows, write_table

# The rate of speech of a language is measured on so many utterances or not at all.
MIN_UTTERANCES_FOR_RATE = 50
# A corpus of one synthetic voice hardly varies: its band is no narrower than this, in ln of characters per second.
MIN_RATE_DEVIATION = 0.08

NUMBERS = (
    "frames",
    "duration_s",
    "tokens",
    "unknown_tokens",
    "unread_numbers",
    "characters_per_second",
    "peak",
    "rms_db",
    "clipped_fraction",
    "dc_offset",
    "silence_fraction",
    "snr_db",
    "bandwidth_hz",
)
NAMES = ("utterance_id", "language", "speaker", "original_text", "audio_hash")

Rates = dict[str, tuple[float, float]]  # characters per second allowed, by language


class Select(beam.DoFn):
    """All stems -> each stem, once the verdicts of all are written."""

    def __init__(self, config: BuildConfig, *, staging: StoragePath):
        self._config, self._staging = config, Staging(staging)

    def process(self, stems: Iterable[str]) -> Iterator[str]:
        stems = sorted(stems)
        try:
            select(stems, config=self._config, staging=self._staging)
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error
        yield from stems


def select(stems: list[str], *, config: BuildConfig, staging: Staging) -> None:
    """Judge every measured record; write the verdicts, and the rates of speech that were found."""
    judgements = {
        source: Judgement(read_candidates(list(group), staging=staging), checks=config.checks)
        for source, group in itertools.groupby(stems, key=lambda stem: ShardName.parse(stem).source)
    }
    rates = {source: judgement.judge_alone(config.sources[source]) for source, judgement in judgements.items()}
    held_out: set[int] = set().union(*(judgement.validation_texts() for judgement in judgements.values()))
    for judgement in judgements.values():
        judgement.judge_leaks(held_out)
        judgement.write(staging)
    write_json(staging.rates, rates, durable=False)


class Candidates(NamedTuple):
    """The measured records of one source, in the order of their keys."""

    stems: list[str]  # of the source
    stem: np.ndarray  # [N] which of them
    row: np.ndarray  # [N] in its table
    numbers: dict[str, np.ndarray]  # [N] each
    names: dict[str, list[str]]  # N each
    texts: list[int]  # N keys


def read_candidates(stems: list[str], *, staging: Staging) -> Candidates:
    """The columns that verdicts are made from, of all shards of a source."""
    tables = [staging.read_rows(stem, columns=[*NUMBERS, *NAMES]) for stem in stems]
    whole = pa.concat_tables(tables)
    ids = whole["utterance_id"].to_pylist()
    keys = [sort_key(utterance_id) for utterance_id in ids]
    order = sorted(range(len(ids)), key=keys.__getitem__)
    lengths = [len(table) for table in tables]
    whole = take_rows(whole, order)
    numbers = {name: whole[name].to_numpy() for name in NUMBERS}
    numbers["unknown_fraction"] = unknown_fraction(numbers)
    names = {name: whole[name].to_pylist() for name in NAMES}
    texts = zip(names["original_text"], names["utterance_id"], strict=True)
    return Candidates(
        stems=stems,
        stem=np.repeat(np.arange(len(stems)), lengths)[order],
        row=np.concatenate([np.arange(length) for length in lengths])[order].astype(np.int64),
        numbers=numbers,
        names=names,
        texts=[text_key(text, utterance_id=utterance_id) for text, utterance_id in texts],
    )


class Judgement:
    """The verdicts on the candidates of one source."""

    def __init__(self, candidates: Candidates, *, checks: CheckConfig):
        self._candidates, self._checks = candidates, checks
        count = len(candidates.texts)
        self._failed: dict[int, list[tuple[Reason, str]]] = {}
        self._numbers = {
            **candidates.numbers,
            "duplicate_bits": np.full(count, HASH_BITS, np.int64),
            "text_repeats": np.zeros(count, np.int64),
            "text_leaks": np.zeros(count, bool),
        }
        self._validation = np.array([ShardName.parse(stem).split == "validation" for stem in candidates.stems], bool)[
            candidates.stem
        ]

    def _passing(self) -> np.ndarray:
        """Rows that failed nothing so far, in order, [K]."""
        mask = np.ones(len(self._candidates.texts), bool)
        mask[list(self._failed)] = False
        return np.flatnonzero(mask)

    def _fail(self, row: int, reason: Reason, message: str) -> None:
        self._failed.setdefault(row, []).append((reason, message))

    def judge_alone(self, source: SourceConfig) -> Rates:
        """All checks and caps but the one that asks of other sources."""
        self._judge_ids()
        for failure in failures(self._numbers, checks=self._checks):
            self._fail(*failure)
        rates = self._judge_rates()
        passing = self._passing()
        hashes = self._candidates.names["audio_hash"]
        self._numbers["duplicate_bits"][passing] = bits_to_earlier([hashes[row] for row in passing])
        for failure in failures(self._numbers, checks=self._checks, bounds=(DUPLICATE_BOUND,)):
            self._fail(*failure)
        self._count_repeats()
        for failure in failures(self._numbers, checks=self._checks, bounds=(REPEAT_BOUND,)):
            self._fail(*failure)
        self._judge_caps(source)
        return rates

    def _judge_ids(self) -> None:
        """An id that stands in both splits, where its text or speaker differs; within a shard no record was made."""
        ids = self._candidates.names["utterance_id"]
        for row, (earlier, later) in enumerate(itertools.pairwise(ids), start=1):
            if earlier == later:
                self._fail(row, Reason.DUPLICATE_ID, "an utterance in the other split has this id")

    def _judge_rates(self) -> Rates:
        """Characters per second outside the band of their language in this source."""
        deviations = self._checks.characters_per_second_deviations
        if deviations is None:
            return {}
        passing, rates = self._passing(), {}
        languages = np.array(self._candidates.names["language"], object)[passing]
        values = self._numbers["characters_per_second"][passing]
        for language in sorted(set(languages)):
            chosen = languages == language
            if np.count_nonzero(chosen) < MIN_UTTERANCES_FOR_RATE:
                continue
            low, high = rates[language] = rate_band(values[chosen], deviations=deviations)
            for row in passing[chosen & ((values < low) | (values > high))].tolist():
                value = self._numbers["characters_per_second"][row]
                reason = Reason.TOO_SLOW if value < low else Reason.TOO_FAST
                message = f"{value:.3g} characters per second, {language} here has {low:.3g} to {high:.3g}"
                self._fail(row, reason, f"{message} (characters_per_second_deviations)")
        return rates

    def _count_repeats(self) -> None:
        seen: dict[tuple[str, int], int] = {}
        for row in self._passing().tolist():
            said = self._candidates.names["speaker"][row], self._candidates.texts[row]
            self._numbers["text_repeats"][row] = seen.get(said, 0)
            seen[said] = seen.get(said, 0) + 1

    def validation_texts(self) -> set[int]:
        """The keys of the texts that validation holds."""
        return {self._candidates.texts[row] for row in self._passing().tolist() if self._validation[row]}

    def judge_leaks(self, held_out: set[int]) -> None:
        """Training rows whose text stands in validation: in what is left of it after the caps."""
        for row in self._passing().tolist():
            if not self._validation[row] and self._candidates.texts[row] in held_out:
                self._numbers["text_leaks"][row] = True
                if self._checks.reject_text_leaks:
                    self._fail(row, Reason.LEAKED_TEXT, "its text stands in validation too (reject_text_leaks)")

    def _judge_caps(self, source: SourceConfig) -> None:
        """What is over the hours that are wanted, of each speaker and of the source."""
        speakers = self._candidates.names["speaker"]
        if (hours := source.max_hours_per_speaker) is not None:
            totals: dict[str, float] = {}
            for row in self._passing().tolist():
                totals[speakers[row]] = totals.get(speakers[row], 0.0) + self._hours(row)
                if totals[speakers[row]] > hours:
                    self._fail(row, Reason.OVER_CAP, f"over {hours} h of {speakers[row]} (max_hours_per_speaker)")
        if (hours := source.max_hours) is not None:
            total = 0.0
            for row in self._passing().tolist():
                total += self._hours(row)
                if total > hours:
                    self._fail(row, Reason.OVER_CAP, f"over {hours} h of this source (max_hours)")

    def _hours(self, row: int) -> float:
        return float(self._numbers["duration_s"][row]) / 3600

    def write(self, staging: Staging) -> None:
        """A table of verdicts for each shard, in the order of its measured rows."""
        count = len(self._candidates.texts)
        reasons, messages = [""] * count, [""] * count
        for row, failed in self._failed.items():
            reasons[row] = str(failed[0][0])
            messages[row] = "; ".join(message for _, message in failed)
        compared = {name: self._numbers[name] for name in ("duplicate_bits", "text_repeats", "text_leaks")}
        table = pa.table({"reason": reasons, "message": messages, **compared}, schema=VERDICT)
        rows = np.lexsort((self._candidates.row, self._candidates.stem))
        ends = np.cumsum(np.bincount(self._candidates.stem, minlength=len(self._candidates.stems)))
        for stem, mine in zip(self._candidates.stems, np.split(rows, ends[:-1]), strict=True):
            write_table(staging.verdicts(stem), table.take(pa.array(mine, pa.int64())), durable=False)


def rate_band(characters_per_second: np.ndarray, *, deviations: float) -> tuple[float, float]:
    """Median times or over exp(deviations · σ); σ is 1.4826 times the median deviation of the logarithm."""
    logarithms = np.log(np.maximum(characters_per_second, 1e-3))
    middle = float(np.median(logarithms))
    sigma = max(1.4826 * float(np.median(np.abs(logarithms - middle))), MIN_RATE_DEVIATION)
    return float(np.exp(middle - deviations * sigma)), float(np.exp(middle + deviations * sigma))
