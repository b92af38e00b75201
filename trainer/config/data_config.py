"""How records become batches: what a user may choose."""

from __future__ import annotations

import pydantic

from shared.config import Config
from trainer.data.bucket_count import CostConfig
from trainer.data.sampling import MixingConfig


class InputConfig(Config):
    """How records become batches."""

    buckets: int | None = pydantic.Field(None, ge=1, le=64)  # batch shapes, at most; None: as many as `costs` say pay
    frames_per_batch: int = pydantic.Field(16_000, ge=1)
    max_clips: int = pydantic.Field(64, ge=1)
    max_frames: int | None = pydantic.Field(None, ge=1)  # longer clips are left out, and reported
    # of the validation split, which judge, one device doing it while the others wait; None: all
    validation_clips: int | None = pydantic.Field(None, ge=1)
    costs: CostConfig = CostConfig()
    mixing: MixingConfig = MixingConfig()
    # shuffled together, and up to three times as much is held in memory: one chunk is cut while the next is read and
    # taken apart; with less than this the padding of LJSpeech's epochs comes to a point above the plan's, for each
    # chunk has its own half-full last batch
    chunk_bytes: int = pydantic.Field(512 << 20, ge=1)
    readers: int = pydantic.Field(4, ge=1)  # blocks read at a time; the order does not depend on it
    prefetch_batches: int = pydantic.Field(4, ge=1)
    corrupt_records: int = pydantic.Field(0, ge=0)  # of a split, on each host: so many are skipped in a session
