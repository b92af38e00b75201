"""How records become batches: what a user may choose."""

from __future__ import annotations

import pydantic

from shared.config import Config


class InputConfig(Config):
    """How records become batches."""

    max_buckets: int = pydantic.Field(8, ge=1, le=64)
    frames_per_batch: int = pydantic.Field(16_000, ge=1)
    max_clips: int = pydantic.Field(64, ge=1)
    chunk_bytes: int = pydantic.Field(384 << 20, ge=1)  # shuffled together; twice as much is held in memory
    readers: int = pydantic.Field(4, ge=1)  # blocks read at a time; the order does not depend on it
    prefetch_batches: int = pydantic.Field(4, ge=1)
    corrupt_records: int = pydantic.Field(0, ge=0)  # so many are skipped; the next one ends the run
