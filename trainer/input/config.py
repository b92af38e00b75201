"""How records become batches: what a user may choose."""

from __future__ import annotations

import pydantic

from shared.config import Config


class InputConfig(Config):
    """How records become batches."""

    buckets: int = pydantic.Field(8, ge=1, le=64)
    frames_per_batch: int = pydantic.Field(16_000, ge=1)
    max_clips: int = pydantic.Field(64, ge=1)
    chunk_records: int = pydantic.Field(512, ge=1)  # parsed and shuffled together
    interleaved_files: int = pydantic.Field(8, ge=1)
    prefetch_batches: int = pydantic.Field(4, ge=1)
