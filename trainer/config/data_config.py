"""Settings of the input: batch shapes, sampling, reading, and tolerance of corrupt records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import pydantic

from shared.config import Config


class CostConfig(Config):
    """Seconds that a batch shape and a frame cost on the training machine; they decide the number of shapes.

    The defaults are for `model.size: normal` on an NVIDIA H200. Its training program compiled in 200 s; the one of
    validation was not measured, and is taken to need a fifth of that. Its step of 15,600 padded frames took 75 ms, from
    one to the next. `make profile` measures both.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "frames_s": "step_s_per_1000_frames",
    }

    compile_s: float = pydantic.Field(240.0, ge=0)  # of a shape's two programs, training and validation
    step_s_per_1000_frames: float = pydantic.Field(0.0048, ge=0)  # padded frames


class SamplingConfig(Config):
    """Sampling temperatures of languages, of sources in each, of speakers in those; 1 leaves the shares as they are."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "languages": "language_temperature",
        "sources": "source_temperature",
        "speakers": "speaker_temperature",
    }

    language_temperature: float = pydantic.Field(1.0, ge=1)  # evens out languages
    source_temperature: float = pydantic.Field(1.0, ge=1)  # evens out the sources of a language
    speaker_temperature: float = pydantic.Field(1.0, ge=1)  # evens out the speakers of a source
    max_repeats: float = pydantic.Field(8.0, ge=1)  # uses of a record in an epoch, at most


class InputConfig(Config):
    """The section `input`: how records become batches."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "frames_per_batch": "global_frames_per_batch",
        "max_clips": "global_max_clips",
        "mixing": "sampling",
        "readers": "num_parallel_reads",
        "corrupt_records": "max_corrupt_records",
    }

    buckets: int | None = pydantic.Field(None, ge=1, le=64)  # batch shapes, at most; None: as many as `costs` justify
    global_frames_per_batch: int = pydantic.Field(16_000, ge=1)  # padded frames, of all devices together
    global_max_clips: int = pydantic.Field(64, ge=1)  # per batch, of all devices together
    max_frames: int | None = pydantic.Field(None, ge=1)  # longer clips are left out, and reported
    # clips of the validation split that are evaluated, by one device while the others wait; None: all
    validation_clips: int | None = pydantic.Field(None, ge=1)
    # clip in which the model hears a voice: the very clip, another one of the speaker, or either by chance
    reference: Literal["same", "other", "mixed"] = "same"
    costs: CostConfig = CostConfig()
    sampling: SamplingConfig = SamplingConfig()
    # Shuffled together. Up to three times as much is held in memory: one chunk is cut into batches while the next is
    # read and parsed. With less than this, the padding of LJSpeech's epochs exceeds the plan's by up to a point,
    # because each chunk ends in half-full batches of its own.
    chunk_bytes: int = pydantic.Field(512 << 20, ge=1)
    num_parallel_reads: int = pydantic.Field(4, ge=1)  # blocks read at a time; the order does not depend on it
    prefetch_batches: int = pydantic.Field(4, ge=1)  # batches that are prepared ahead of the step
    max_corrupt_records: int = pydantic.Field(0, ge=0)  # skipped in a session, at most: of each split, on each host
