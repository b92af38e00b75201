"""Thresholds of the quality checks, as a build's config sets them."""

from __future__ import annotations

import pydantic

from shared.config import Config

HASH_BITS = 128  # length of the audio hash in preprocess/quality.py


class CheckConfig(Config):
    """The section `checks`: thresholds, each with its own rejection reason; None turns a check off."""

    min_duration_s: float | None = pydantic.Field(0.4, gt=0)
    max_duration_s: float | None = pydantic.Field(20.0, gt=0)
    max_frames: int | None = pydantic.Field(None, ge=1)
    max_tokens: int | None = pydantic.Field(400, ge=3)
    max_unknown_fraction: float | None = pydantic.Field(0.2, ge=0, le=1)
    max_unread_numbers: int | None = pydantic.Field(None, ge=0)
    # distance from the language's median, in robust standard deviations of the logarithm
    characters_per_second_deviations: float | None = pydantic.Field(6.0, gt=0)
    min_rms_db: float | None = pydantic.Field(-60.0, ge=-120, le=0)
    max_peak: float | None = pydantic.Field(None, gt=0)
    max_clipped_fraction: float | None = pydantic.Field(0.01, ge=0, le=1)
    max_silence_fraction: float | None = pydantic.Field(0.8, ge=0, le=1)
    min_snr_db: float | None = pydantic.Field(5.0, ge=-120, le=100)
    max_dc_offset: float | None = pydantic.Field(0.1, ge=0, le=1)
    min_bandwidth_hz: float | None = pydantic.Field(None, gt=0)
    min_duplicate_bits: int | None = pydantic.Field(13, ge=1, le=HASH_BITS)
    max_text_repeats: int | None = pydantic.Field(None, ge=0)
    reject_text_leaks: bool = False
