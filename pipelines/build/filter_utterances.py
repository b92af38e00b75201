"""Second step of a build: decide which prepared records are kept.

Every decision follows from columns of the prepared rows, so that a changed threshold needs no decoding. The sources are
filtered in the order of the config: a copy of a recording of an earlier source is rejected, so that a source that is
added at the end changes nothing in the others. The one exception is the check that no text is in both splits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa

from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.duplicates import DuplicateSearch, Place
from pipelines.build.mel_reader import MelReader
from pipelines.build.near_duplicates import Recordings
from pipelines.build.splits import text_key
from pipelines.build.staging import FILTER_ROWS, Staging
from pipelines.config import BuildConfig
from preprocess.check_config import HASH_BITS, CheckConfig
from preprocess.checks import DUPLICATE_BOUND, REPEAT_BOUND, failures, unknown_fraction
from preprocess.corpora.source import SourceConfig
from preprocess.utterance import Reason
from shared.files import write_json
from shared.hashing import sort_key
from shared.layout import Layout, ShardName
from shared.storage_path import StoragePath
from shared.tables import take_rows, write_table

# A language with fewer utterances in a source has no estimate of its speech rate.
MIN_UTTERANCES_FOR_RATE = 50
# Lower bound of σ, in ln of characters per second: a corpus of one synthetic voice hardly varies.
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

SpeechRates = dict[str, tuple[float, float]]  # lowest and highest characters per second, by language


class FilterUtterances(beam.DoFn):
    """All shard names -> each shard name, after the filter results of all shards are written."""

    def __init__(self, config: BuildConfig, *, data: StoragePath, staging: StoragePath):
        self._config, self._data, self._staging = config, Layout(data), Staging(staging)

    def process(self, shard_names: Iterable[str]) -> Iterator[str]:
        shard_names = sorted(shard_names)
        with translate_disk_errors(staging=self._staging.root):
            filter_utterances(shard_names, config=self._config, data=self._data, staging=self._staging)
        yield from shard_names


def filter_utterances(shard_names: list[str], *, config: BuildConfig, data: Layout, staging: Staging) -> None:
    """Filter all prepared records; write the results by shard, and the speech rates by source."""
    bits = config.checks.min_duplicate_bits
    mels = MelReader(config, data=data, staging=staging)
    duplicates = DuplicateSearch(mels, below_bits=bits) if bits is not None else None
    by_source = {
        source: list(group)
        for source, group in itertools.groupby(shard_names, key=lambda name: ShardName.parse(name).source)
    }
    filters = {
        source: SourceFilter(
            read_source_rows(by_source[source], staging=staging), checks=config.checks, duplicates=duplicates
        )
        for source in config.sources
        if source in by_source
    }
    rates = {source: filter_.check_within_source(config.sources[source]) for source, filter_ in filters.items()}
    held_out: set[int] = set().union(*(filter_.validation_texts() for filter_ in filters.values()))
    for filter_ in filters.values():
        filter_.check_text_leaks(held_out)
        filter_.write(staging)
    write_json(staging.speech_rates_path, rates, durable=False)


class SourceRows(NamedTuple):
    """The prepared rows of one source, in the order of their keys; N rows."""

    shard_names: list[str]
    shard: np.ndarray  # [N] index into shard_names
    row: np.ndarray  # [N] index into the shard's table
    numbers: dict[str, np.ndarray]  # [N] each
    names: dict[str, list[str]]  # N each
    texts: list[int]  # N keys of the spoken texts


def read_source_rows(shard_names: list[str], *, staging: Staging) -> SourceRows:
    """Read the columns that the filter needs, from all shards of one source."""
    tables = [staging.read_rows(name, columns=[*NUMBERS, *NAMES]) for name in shard_names]
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
    return SourceRows(
        shard_names=shard_names,
        shard=np.repeat(np.arange(len(shard_names)), lengths)[order],
        row=np.concatenate([np.arange(length) for length in lengths])[order].astype(np.int64),
        numbers=numbers,
        names=names,
        texts=[text_key(text, utterance_id=utterance_id) for text, utterance_id in texts],
    )


class SourceFilter:
    """The checks on the rows of one source, and the failures that they found."""

    def __init__(self, rows: SourceRows, *, checks: CheckConfig, duplicates: DuplicateSearch | None):
        self._rows, self._checks, self._duplicates = rows, checks, duplicates
        count = len(rows.texts)
        self._failed: dict[int, list[tuple[Reason, str]]] = {}
        self._numbers = {
            **rows.numbers,
            "duplicate_bits": np.full(count, HASH_BITS, np.int64),
            "text_repeats": np.zeros(count, np.int64),
            "text_leaks": np.zeros(count, bool),
        }
        splits = [ShardName.parse(name).split for name in rows.shard_names]
        self._validation = np.array([split == "validation" for split in splits], bool)[rows.shard]

    def _passing(self) -> np.ndarray:
        """Indices of the rows without a failure so far, ascending, [K]."""
        mask = np.ones(len(self._rows.texts), bool)
        mask[list(self._failed)] = False
        return np.flatnonzero(mask)

    def _fail(self, row: int, reason: Reason, message: str) -> None:
        self._failed.setdefault(row, []).append((reason, message))

    def check_within_source(self, source: SourceConfig) -> SpeechRates:
        """Run all checks that need no other source; each one sees only rows that passed the checks before it."""
        self._check_ids()
        for failure in failures(self._numbers, checks=self._checks):
            self._fail(*failure)
        rates = self._check_speech_rates()
        originals = self._find_copies()
        for row, reason, message in failures(self._numbers, checks=self._checks, bounds=(DUPLICATE_BOUND,)):
            self._fail(row, reason, f"{message}: a copy of {originals[row]}")
        self._count_text_repeats()
        for failure in failures(self._numbers, checks=self._checks, bounds=(REPEAT_BOUND,)):
            self._fail(*failure)
        self._check_caps(source)
        if self._duplicates is not None:
            recordings, places = self._recordings()
            self._duplicates.keep(recordings, places=places)
        return rates

    def _find_copies(self) -> dict[int, str]:
        """Set the distance of each row to its original; return the ids of the originals, by row."""
        if self._duplicates is None:
            return {}
        passing = self._passing()
        recordings, places = self._recordings()
        distances, originals = self._duplicates.find(recordings, places=places)
        self._numbers["duplicate_bits"][passing] = distances
        return dict(zip(passing.tolist(), originals, strict=True))

    def _recordings(self) -> tuple[Recordings, list[Place]]:
        """The recordings of the rows without a failure so far, and their places."""
        rows, passing = self._rows, self._passing()
        ids, hashes = rows.names["utterance_id"], rows.names["audio_hash"]
        places = [Place(ids[row], rows.shard_names[rows.shard[row]], int(rows.row[row])) for row in passing.tolist()]
        durations_s = rows.numbers["duration_s"][passing]
        return Recordings.of([hashes[row] for row in passing.tolist()], durations_s=durations_s), places

    def _check_ids(self) -> None:
        """Fail the second row of an id in both splits; within a shard, preparation has rejected it already."""
        ids = self._rows.names["utterance_id"]
        for row, (earlier, later) in enumerate(itertools.pairwise(ids), start=1):
            if earlier == later:
                self._fail(row, Reason.DUPLICATE_ID, "an utterance in the other split has this id")

    def _check_speech_rates(self) -> SpeechRates:
        """Fail rows whose characters per second lie outside the range of their language in this source."""
        deviations = self._checks.characters_per_second_deviations
        if deviations is None:
            return {}
        passing, rates = self._passing(), {}
        languages = np.array(self._rows.names["language"], object)[passing]
        values = self._numbers["characters_per_second"][passing]
        for language in sorted(set(languages)):
            chosen = languages == language
            if np.count_nonzero(chosen) < MIN_UTTERANCES_FOR_RATE:
                continue
            low, high = rates[language] = speech_rate_range(values[chosen], deviations=deviations)
            for row in passing[chosen & ((values < low) | (values > high))].tolist():
                value = self._numbers["characters_per_second"][row]
                reason = Reason.TOO_SLOW if value < low else Reason.TOO_FAST
                message = f"{value:.3g} characters per second, {language} here has {low:.3g} to {high:.3g}"
                self._fail(row, reason, f"{message} (characters_per_second_deviations)")
        return rates

    def _count_text_repeats(self) -> None:
        """For each row, count the earlier rows with the same speaker and text."""
        seen: dict[tuple[str, int], int] = {}
        for row in self._passing().tolist():
            spoken = self._rows.names["speaker"][row], self._rows.texts[row]
            self._numbers["text_repeats"][row] = seen.get(spoken, 0)
            seen[spoken] = seen.get(spoken, 0) + 1

    def validation_texts(self) -> set[int]:
        """The keys of the texts in the validation split."""
        return {self._rows.texts[row] for row in self._passing().tolist() if self._validation[row]}

    def check_text_leaks(self, held_out: set[int]) -> None:
        """Fail training rows whose text the validation split of any source holds, after its caps."""
        for row in self._passing().tolist():
            if not self._validation[row] and self._rows.texts[row] in held_out:
                self._numbers["text_leaks"][row] = True
                if self._checks.reject_text_leaks:
                    self._fail(row, Reason.LEAKED_TEXT, "its text stands in validation too (reject_text_leaks)")

    def _check_caps(self, source: SourceConfig) -> None:
        """Fail rows over `max_hours_per_speaker` or `max_hours`."""
        speakers = self._rows.names["speaker"]
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
        """Write a table of results for each shard, in the order of its prepared rows."""
        count = len(self._rows.texts)
        reasons, messages = [""] * count, [""] * count
        for row, failed in self._failed.items():
            reasons[row] = str(failed[0][0])
            messages[row] = "; ".join(message for _, message in failed)
        compared = {name: self._numbers[name] for name in ("duplicate_bits", "text_repeats", "text_leaks")}
        table = pa.table({"reason": reasons, "message": messages, **compared}, schema=FILTER_ROWS)
        rows = np.lexsort((self._rows.row, self._rows.shard))
        ends = np.cumsum(np.bincount(self._rows.shard, minlength=len(self._rows.shard_names)))
        for shard_name, own in zip(self._rows.shard_names, np.split(rows, ends[:-1]), strict=True):
            write_table(staging.filter_results_path(shard_name), table.take(pa.array(own, pa.int64())), durable=False)


def speech_rate_range(characters_per_second: np.ndarray, *, deviations: float) -> tuple[float, float]:
    """The range of plausible speech rates: median · exp(± deviations · σ).

    σ is 1.4826 times the median absolute deviation of the logarithm, the robust estimate of a standard deviation.
    """
    logarithms = np.log(np.maximum(characters_per_second, 1e-3))
    middle = float(np.median(logarithms))
    sigma = max(1.4826 * float(np.median(np.abs(logarithms - middle))), MIN_RATE_DEVIATION)
    return float(np.exp(middle - deviations * sigma)), float(np.exp(middle + deviations * sigma))
