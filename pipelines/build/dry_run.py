"""What a build would give and cost, from its listing and a few clips of each source."""

from __future__ import annotations

import collections
import heapq
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipelines.build.prepare_shards import preparation
from pipelines.build.shard_plan import is_wanted, plan_build
from pipelines.config import BuildConfig
from pipelines.execution.runners import choose_workers
from preprocess.corpora import read_corpus
from preprocess.record import Preparation, PreparedUtterance
from preprocess.utterance import Utterance
from shared.errors import UserError
from shared.hashing import sort_key, stable_hash
from shared.records import encode
from shared.tfrecord import framed_bytes

SAMPLED_CLIPS = 24

# Of the rate of the bare utterance function on all workers, what a build reaches, and what starting it takes
# (`make bench`).
BUILD_EFFICIENCY = 0.75
START_S = {False: 1.0, True: 8.0}


class SourceForecast(NamedTuple):
    """One source: what its metadata lists, and estimates for the whole from the sampled clips."""

    name: str
    utterances: int
    bad_rows: int
    languages: dict[str, int]
    speakers: int
    shards: int
    sampled: int
    decodable: int  # of the sampled
    hours: float
    hours_error: float  # standard error of the estimate
    bytes: float
    cpu_s: float


class Forecast(NamedTuple):
    """The whole build."""

    sources: list[SourceForecast]
    workers: int

    @property
    def seconds(self) -> float:
        work_s = sum(source.cpu_s for source in self.sources) / self.workers / BUILD_EFFICIENCY
        return work_s + START_S[self.workers > 1]


def forecast_build(config: BuildConfig) -> Forecast:
    """List every source, prepare a few clips of each, extrapolate; nothing is written.

    Raises:
        UserError: the corpora or the tokenizer.
    """
    plan = plan_build(config)
    prepare = preparation(config)
    shards: collections.Counter[str] = collections.Counter()
    for (name, _), count in plan.shards.items():
        shards[name] += count
    sources = [_forecast_source(name, config=config, prepare=prepare, shards=shards[name]) for name in config.sources]
    return Forecast(sources, choose_workers(config.workers, utterances=plan.listed))


class Listing(NamedTuple):
    """What a source's metadata says."""

    utterances: int
    bad_rows: int
    languages: collections.Counter[str]
    speakers: int
    sample: list[Utterance]


def list_source(name: str, *, config: BuildConfig) -> Listing:
    """Count a source's utterances and choose a few of them by hash."""
    languages: collections.Counter[str] = collections.Counter()
    speakers: set[int] = set()
    bad_rows = 0

    def utterances() -> Iterator[Utterance]:
        nonlocal bad_rows
        for element in read_corpus(config.sources[name], name=name):
            if isinstance(element, Utterance):
                languages[element.language] += 1
                speakers.add(stable_hash(element.speaker, purpose="speaker"))
                yield element
            else:
                bad_rows += is_wanted(element)

    sample = heapq.nsmallest(SAMPLED_CLIPS, utterances(), key=lambda one: sort_key(one.id))
    return Listing(languages.total(), bad_rows, languages, len(speakers), sample)


def _forecast_source(name: str, *, config: BuildConfig, prepare: Preparation, shards: int) -> SourceForecast:
    listing = list_source(name, config=config)
    durations_s, sizes_bytes, times_s = _measure(listing.sample, prepare=prepare)
    scale = listing.utterances / max(len(listing.sample), 1)
    # the sample is drawn without being put back
    unseen = 1 - len(listing.sample) / max(listing.utterances, 1)
    spread_s = float(np.std(durations_s)) if listing.sample else 0.0
    error_s = spread_s * np.sqrt(len(listing.sample) * unseen) * scale
    return SourceForecast(
        name=name,
        utterances=listing.utterances,
        bad_rows=listing.bad_rows,
        languages=dict(sorted(listing.languages.items())),
        speakers=listing.speakers,
        shards=shards,
        sampled=len(listing.sample),
        decodable=int(np.count_nonzero(sizes_bytes)),
        hours=float(durations_s.sum()) * scale / 3600,
        hours_error=error_s / 3600,
        bytes=float(sizes_bytes.sum()) * scale,
        cpu_s=float(times_s.sum()) * scale,
    )


def _measure(sample: list[Utterance], *, prepare: Preparation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Durations, bytes in a shard and seconds of preparation, [K] each; zeros where a clip cannot be decoded."""
    rows = []
    for utterance in sample[:1] + sample:  # the first warms caches up and does not count
        started_s = time.perf_counter()
        try:
            outcome = prepare(utterance)
        except OSError as error:
            raise UserError(f"{utterance.audio_path}: {error.strerror}; mend the disk and ask again") from error
        duration_s, size_bytes = 0.0, 0
        if isinstance(outcome, PreparedUtterance):
            duration_s, size_bytes = outcome.recording.duration_s, framed_bytes(encode(outcome.record))
        rows.append((duration_s, size_bytes, time.perf_counter() - started_s))
    durations_s, sizes_bytes, times_s = np.array(rows[1:], np.float64).reshape(-1, 3).T
    return durations_s, sizes_bytes, times_s
