"""Dry run of a build: bytes, hours of audio and the build's time, from the metadata and a few prepared clips."""

from __future__ import annotations

import collections
import heapq
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipelines.build.preparation import create_preparation
from pipelines.build.shard_plan import is_selected, plan_shards
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

# Rate of a build, relative to preparation alone on all workers (`make bench`).
BUILD_EFFICIENCY = 0.75
# Time until the first utterance, without and with worker processes (`make bench`).
START_S = {False: 1.0, True: 8.0}


class SourceEstimate(NamedTuple):
    """Counts from the metadata of one source, and estimates from its sampled clips."""

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
    size_bytes: float
    cpu_s: float


class BuildEstimate(NamedTuple):
    """Estimates for a whole build."""

    sources: list[SourceEstimate]
    workers: int

    @property
    def build_time_s(self) -> float:
        work_s = sum(source.cpu_s for source in self.sources) / self.workers / BUILD_EFFICIENCY
        return work_s + START_S[self.workers > 1]


def estimate_build(config: BuildConfig) -> BuildEstimate:
    """List every source, prepare a few clips of each, and extrapolate; nothing is written.

    Raises:
        UserError: a corpus or the tokenizer cannot be read.
    """
    plan = plan_shards(config)
    prepare = create_preparation(config)
    shards: collections.Counter[str] = collections.Counter()
    for (name, _), count in plan.shards.items():
        shards[name] += count
    sources = [_estimate_source(name, config=config, prepare=prepare, shards=shards[name]) for name in config.sources]
    return BuildEstimate(sources, choose_workers(config.workers, utterances=plan.listed))


class SourceListing(NamedTuple):
    """The utterances that a source's metadata lists."""

    utterances: int
    bad_rows: int
    languages: collections.Counter[str]
    speakers: int
    sample: list[Utterance]


def sample_source(name: str, *, config: BuildConfig) -> SourceListing:
    """Count a source's utterances and sample a few of them by hash."""
    languages: collections.Counter[str] = collections.Counter()
    speakers: set[int] = set()
    bad_rows = 0

    def utterances() -> Iterator[Utterance]:
        nonlocal bad_rows
        for element in read_corpus(config.sources[name], name=name, sources=config.sources):
            if isinstance(element, Utterance):
                languages[element.language] += 1
                speakers.add(stable_hash(element.speaker, purpose="speaker"))
                yield element
            else:
                bad_rows += is_selected(element)

    sample = heapq.nsmallest(SAMPLED_CLIPS, utterances(), key=lambda one: sort_key(one.id))
    return SourceListing(languages.total(), bad_rows, languages, len(speakers), sample)


def _estimate_source(name: str, *, config: BuildConfig, prepare: Preparation, shards: int) -> SourceEstimate:
    listing = sample_source(name, config=config)
    durations_s, sizes_bytes, times_s = _prepare_sample(listing.sample, prepare=prepare)
    scale = listing.utterances / max(len(listing.sample), 1)
    # finite population correction: the sample is drawn without replacement
    unseen = 1 - len(listing.sample) / max(listing.utterances, 1)
    spread_s = float(np.std(durations_s)) if listing.sample else 0.0
    error_s = spread_s * np.sqrt(len(listing.sample) * unseen) * scale
    return SourceEstimate(
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
        size_bytes=float(sizes_bytes.sum()) * scale,
        cpu_s=float(times_s.sum()) * scale,
    )


def _prepare_sample(sample: list[Utterance], *, prepare: Preparation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prepare the sampled clips.

    Returns:
        Durations in seconds, bytes in a shard, and preparation times in seconds, [K] each. Duration and bytes of a clip
        that cannot be prepared are 0.
    """
    rows = []
    for utterance in sample[:1] + sample:  # the first clip warms up caches; its time is dropped
        started_s = time.perf_counter()
        try:
            outcome = prepare(utterance)
        except OSError as error:
            raise UserError(
                f"{utterance.audio_path}: {error.strerror}; fix the disk and run the command again"
            ) from error
        duration_s, size_bytes = 0.0, 0
        if isinstance(outcome, PreparedUtterance):
            duration_s, size_bytes = outcome.recording.duration_s, framed_bytes(encode(outcome.record))
        rows.append((duration_s, size_bytes, time.perf_counter() - started_s))
    durations_s, sizes_bytes, times_s = np.array(rows[1:], np.float64).reshape(-1, 3).T
    return durations_s, sizes_bytes, times_s
