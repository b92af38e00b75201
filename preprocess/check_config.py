"""Thresholds of the quality checks, as a build's config sets them."""

from __future__ import annotations

import pydantic

from shared.config import Config

HASH_BITS = 128  # length of the audio hash in preprocess/quality.py
DUPLICATE_BITS = 25  # nearly all copies with 20 dB of noise differ in fewer bits


class CheckConfig(Config):
    """The section `checks`: thresholds, each with its own rejection reason; None turns a check off."""

    min_duration_s: float | None = pydantic.Field(0.4, gt=0)  # shortest recording
    max_duration_s: float | None = pydantic.Field(20.0, gt=0)  # longest recording
    max_frames: int | None = pydantic.Field(None, ge=1)  # longest mel
    max_tokens: int | None = pydantic.Field(400, ge=3)  # longest text, language token and </s> included
    max_unknown_fraction: float | None = pydantic.Field(0.2, ge=0, le=1)  # share of <unk> among the pieces of a text
    max_unread_numbers: int | None = pydantic.Field(None, ge=0)  # numbers of a text that stay digits
    # distance of the speech rate from the language's median, in robust standard deviations of its logarithm
    characters_per_second_deviations: float | None = pydantic.Field(6.0, gt=0)
    min_rms_db: float | None = pydantic.Field(-60.0, ge=-120, le=0)  # lowest level, relative to full scale
    max_peak: float | None = pydantic.Field(None, gt=0)  # largest absolute sample
    max_clipped_fraction: float | None = pydantic.Field(0.01, ge=0, le=1)  # share of samples within 0.1 % of the peak
    # share of frames 40 dB or more below the loud ones
    max_silence_fraction: float | None = pydantic.Field(0.8, ge=0, le=1)
    min_snr_db: float | None = pydantic.Field(5.0, ge=-120, le=100)  # lowest estimated signal-to-noise ratio
    max_dc_offset: float | None = pydantic.Field(0.1, ge=0, le=1)  # largest absolute mean of the samples
    min_bandwidth_hz: float | None = pydantic.Field(None, gt=0)  # lowest bandwidth; 4500 excludes telephone speech
    # recordings whose audio hashes differ in fewer bits are laid over each other; if they coincide, one is a duplicate
    min_duplicate_bits: int | None = pydantic.Field(DUPLICATE_BITS, ge=1, le=HASH_BITS)
    max_text_repeats: int | None = pydantic.Field(None, ge=0)  # earlier utterances of the speaker with the same text
    # reject utterances of training whose text also occurs in validation or test, and those of validation if in test
    reject_text_leaks: bool = False
