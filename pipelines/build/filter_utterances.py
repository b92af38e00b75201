"""Second step of a build: decide which prepared records are kept.

Every decision follows from columns of the prepared rows, so that a changed threshold needs no decoding. The sources are
filtered in the order of the config: a copy of a recording of an earlier source is rejected, so that a source that is
added at the end changes nothing in the others. The one exception is the check that no text is in two splits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import apache_beam as beam
import numpy as np
import pyarrow as pa

from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.duplicates import DuplicateSearch
from pipelines.build.mel_reader import MelReader
from pipelines.build.no_copies import NoCopies
from pipelines.build.source_rows import SourceRows, read_source_rows
from pipelines.build.staging import FILTER_ROWS, Staging
from pipelines.config import BuildConfig
from preprocess.check_config import HASH_BITS, CheckConfig
from preprocess.checks import DUPLICATE_BOUND, REPEAT_BOUND, failures
from preprocess.corpora.source import SourceConfig
from preprocess.utterance import Reason
from shared.files import write_json
from shared.layout import SPLITS, Layout, ShardName
from shared.storage_path import StoragePath
from shared.tables import write_table

# A language with fewer utterances in a source has no estimate of its speech rate.
MIN_UTTERANCES_FOR_RATE = 50
# Lower bound of σ, in ln of characters per second: a corpus of one synthetic voice hardly varies.
MIN_RATE_DEVIATION = 0.08

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
    preparation = staging.fingerprint_path.read_bytes().decode()
    duplicates = None
    if bits is not None:
        mels, no_copies = MelReader(config, data=data, staging=staging), NoCopies.read(data, preparation=preparation)
        duplicates = DuplicateSearch(mels, no_copies=no_copies, below_bits=bits)
    by_source = {
        source: list(group)
        for source, group in itertools.groupby(shard_names, key=lambda name: ShardName.parse(name).source)
    }
    filters = {
        source: SourceFilter(
            read_source_rows(by_source[source], staging=staging, with_contents=duplicates is not None),
            checks=config.checks,
            duplicates=duplicates,
        )
        for source in config.sources
        if source in by_source
    }
    rates = {source: filter_.check_within_source(config.sources[source]) for source, filter_ in filters.items()}
    held_out = {
        split: np.unique(np.concatenate([filter_.texts_of(split) for filter_ in filters.values()]))
        for split in SPLITS[1:]
    }
    for filter_ in filters.values():
        filter_.check_text_leaks(held_out)
        filter_.write(staging)
    if duplicates is not None:
        duplicates.no_copies.write(staging.layout, preparation=preparation)
    write_json(staging.speech_rates_path, rates, durable=False)


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
        splits = [SPLITS.index(ShardName.parse(name).split) for name in rows.shard_names]
        self._split = np.array(splits, np.int8)[rows.shard]  # of each row, its index in SPLITS

    def _passing(self) -> np.ndarray:
        """Indices of the rows without a failure so far, ascending, [K]."""
        mask = np.ones(len(self._rows.texts), bool)
        mask[list(self._failed)] = False
        return np.flatnonzero(mask)

    def _fail(self, row: int, reason: Reason, message: str) -> None:
        self._failed.setdefault(row, []).append((reason, message))

    def check_within_source(self, source: SourceConfig) -> SpeechRates:
        """Run all checks that need no later source; each one sees only rows that passed the checks before it."""
        self._check_ids()
        for failure in failures(self._numbers, checks=self._checks):
            self._fail(*failure)
        rates = self._check_speech_rates()
        self._check_copies()
        self._count_text_repeats()
        for failure in failures(self._numbers, checks=self._checks, bounds=(REPEAT_BOUND,)):
            self._fail(*failure)
        self._check_caps(source)
        if self._duplicates is not None:
            self._duplicates.keep(self._rows, self._passing())
        return rates

    def _check_copies(self) -> None:
        """Fail rows that are copies; the message names the original."""
        if self._duplicates is None:
            return
        passing = self._passing()
        self._numbers["duplicate_bits"][passing], originals = self._duplicates.find(self._rows, passing)
        for row, reason, message in failures(self._numbers, checks=self._checks, bounds=(DUPLICATE_BOUND,)):
            self._fail(row, reason, f"{message}: a copy of {originals[row]}")

    def _check_ids(self) -> None:
        """Fail the later rows of an id in several splits; within a shard, preparation has rejected it already."""
        keys = self._rows.keys
        for row in (np.flatnonzero((keys[1:] == keys[:-1]).all(axis=1)) + 1).tolist():
            self._fail(row, Reason.DUPLICATE_ID, "an utterance in another split has this id")

    def _check_speech_rates(self) -> SpeechRates:
        """Fail rows whose characters per second lie outside the range of their language in this source."""
        deviations = self._checks.characters_per_second_deviations
        if deviations is None:
            return {}
        passing, rates = self._passing(), {}
        codes, names = self._rows.languages.codes[passing], self._rows.languages.names
        values = self._numbers["characters_per_second"][passing]
        for language, code in sorted(zip(names, range(len(names)), strict=True)):
            chosen = codes == code
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
        passing = self._passing()
        speakers, texts = self._rows.speakers.codes[passing], self._rows.texts[passing]
        order = np.lexsort((passing, texts, speakers))
        is_first = np.diff(speakers[order], prepend=-1).astype(bool)
        is_first[1:] |= texts[order][1:] != texts[order][:-1]
        starts = np.flatnonzero(is_first)
        ranks = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        self._numbers["text_repeats"][passing[order]] = ranks

    def texts_of(self, split: str) -> np.ndarray:
        """The keys of the texts in a split, sorted, each once."""
        passing = self._passing()
        return np.unique(self._rows.texts[passing[self._split[passing] == SPLITS.index(split)]])

    def check_text_leaks(self, held_out: Mapping[str, np.ndarray]) -> None:
        """Fail rows whose text a later split of any source holds, after its caps; SPLITS has the order.

        Args:
            held_out: the keys of the texts in validation, and in test.
        """
        passing, last = self._passing(), dict[int, str]()
        for split, texts in held_out.items():
            earlier = passing[self._split[passing] < SPLITS.index(split)]
            last |= dict.fromkeys(earlier[np.isin(self._rows.texts[earlier], texts)].tolist(), split)
        for row, split in last.items():
            self._numbers["text_leaks"][row] = True
            if self._checks.reject_text_leaks:
                self._fail(row, Reason.LEAKED_TEXT, f"its text stands in {split} too (reject_text_leaks)")

    def _check_caps(self, source: SourceConfig) -> None:
        """Fail rows over `max_hours_per_speaker` or `max_hours`."""
        if (hours := source.max_hours_per_speaker) is not None:
            passing = self._passing()
            codes, names = self._rows.speakers.codes[passing], self._rows.speakers.names
            order = np.argsort(codes, kind="stable")
            for own in np.split(passing[order], np.flatnonzero(np.diff(codes[order])) + 1):
                what = f"of {names[self._rows.speakers.codes[own[0]]] if len(own) else ''} (max_hours_per_speaker)"
                self._fail_over(own, hours=hours, what=what)
        if (hours := source.max_hours) is not None:
            self._fail_over(self._passing(), hours=hours, what="of this source (max_hours)")

    def _fail_over(self, rows: np.ndarray, *, hours: float, what: str) -> None:
        """Fail the rows from the one on that makes the sum of their durations too large."""
        totals = np.cumsum(self._numbers["duration_s"][rows].astype(np.float64) / 3600)
        for row in rows[totals > hours].tolist():
            self._fail(row, Reason.OVER_CAP, f"over {hours} h {what}")

    def write(self, staging: Staging) -> None:
        """Write a table of results for each shard, in the order of its prepared rows."""
        rows = np.lexsort((self._rows.row, self._rows.shard))
        ends = np.cumsum(np.bincount(self._rows.shard, minlength=len(self._rows.shard_names)))
        for shard_name, own in zip(self._rows.shard_names, np.split(rows, ends[:-1]), strict=True):
            write_table(staging.filter_results_path(shard_name), self._results(own), durable=False)

    def _results(self, rows: np.ndarray) -> pa.Table:
        failed = [self._failed.get(row, [(None, "")]) for row in rows.tolist()]
        compared = {name: self._numbers[name][rows] for name in ("duplicate_bits", "text_repeats", "text_leaks")}
        reasons = ["" if of_row[0][0] is None else str(of_row[0][0]) for of_row in failed]
        messages = ["; ".join(message for _, message in of_row) for of_row in failed]
        return pa.table({"reason": reasons, "message": messages, **compared}, schema=FILTER_ROWS)


def speech_rate_range(characters_per_second: np.ndarray, *, deviations: float) -> tuple[float, float]:
    """The range of plausible speech rates: median · exp(± deviations · σ).

    σ is 1.4826 times the median absolute deviation of the logarithm, the robust estimate of a standard deviation.
    """
    logarithms = np.log(np.maximum(characters_per_second, 1e-3))
    middle = float(np.median(logarithms))
    sigma = max(1.4826 * float(np.median(np.abs(logarithms - middle))), MIN_RATE_DEVIATION)
    return float(np.exp(middle - deviations * sigma)), float(np.exp(middle + deviations * sigma))
