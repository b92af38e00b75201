"""Mel settings of the user's own, in place of those of a preset."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import pydantic

from shared.config import Config
from shared.features import CUSTOM, PRESETS, FeatureSpec, mel_filterbank, preset, with_known_name

FRAMES_PER_SECOND = (20, 250)
BANDS_IN_A_WORD = 4  # training reads stored mels as words of eight bytes


class MelConfig(Config):
    """The section `mel`: settings in place of those of the preset that `features` names; null keeps the preset's."""

    sample_rate_hz: int | None = pydantic.Field(None, ge=8000, le=96000)  # of the samples that mels are computed from
    n_fft: int | None = pydantic.Field(None, ge=64, le=8192)  # samples of the transform and of its window
    hop_samples: int | None = pydantic.Field(None, ge=32, le=4096)  # from one frame to the next; at most half of n_fft
    # same: a frame for each hop of samples, as HiFi-GAN has it; center: n_fft / 2 on each side, as librosa has it
    padding: Literal["same", "center"] | None = None
    n_mels: int | None = pydantic.Field(None, ge=8, le=256)  # bands of a mel, a multiple of 4
    fmin_hz: float | None = pydantic.Field(None, ge=0, le=48000)  # where the lowest band begins
    fmax_hz: float | None = pydantic.Field(None, gt=0, le=48000)  # where the highest band ends
    mel_scale: Literal["slaney", "htk"] | None = None  # spacing of the bands
    mel_norm: Literal["slaney", "none"] | None = None  # slaney: bands of equal area; none: bands of equal peak
    power_epsilon: float | None = pydantic.Field(None, ge=0, le=1e-3)  # added to re² + im² before the root
    floor: float | None = pydantic.Field(None, ge=1e-8, le=0.1)  # least mel magnitude before the logarithm


def feature_spec(features: str, *, mel: MelConfig) -> FeatureSpec:
    """The feature spec of a preset with settings of the user's own; a preset itself where all values are its own.

    Raises:
        UserError: there is no preset of that name.
        ValueError: the settings do not go together.
    """
    base = preset(features)
    own = mel.model_dump(exclude_none=True)
    padding = own.pop("padding", "center" if base.pad_samples == base.n_fft // 2 else "same")
    if own.get("mel_norm") == "none":
        own["mel_norm"] = None
    spec = dataclasses.replace(base, **own)
    spec = dataclasses.replace(spec, pad_samples=_pad_samples(spec, padding=padding))
    spec = with_known_name(spec)
    if spec.name == CUSTOM:
        _check(spec)
    return spec


def check_features(spec: FeatureSpec) -> None:
    """Check the mel settings of a file that may come from anyone: mels by them take bounded time and memory.

    Raises:
        ValueError: a value is out of its range, or the values do not go together.
    """
    if spec in PRESETS.values():
        return
    names = MelConfig.model_fields.keys() - {"padding", "mel_norm", "mel_scale"}
    try:
        MelConfig.model_validate({name: getattr(spec, name) for name in names})
    except pydantic.ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ValueError(f"{first['loc'][0]}: {first['msg']}") from error
    if spec.mel_scale not in ("slaney", "htk") or spec.mel_norm not in ("slaney", None):
        raise ValueError(f"mel_scale {spec.mel_scale}, mel_norm {spec.mel_norm}: expected those of the presets")
    if not 0 <= spec.pad_samples <= spec.n_fft // 2:
        raise ValueError(f"pad_samples {spec.pad_samples}: expected at most half of n_fft {spec.n_fft}")
    _check(spec)


def _pad_samples(spec: FeatureSpec, *, padding: str) -> int:
    return (spec.n_fft if padding == "center" else spec.n_fft - spec.hop_samples) // 2


def _check(spec: FeatureSpec) -> None:
    """Raises ValueError if the settings of a spec do not go together."""
    _check_frames(spec)
    if not spec.fmin_hz < spec.fmax_hz <= spec.sample_rate_hz / 2:
        raise ValueError(
            f"mel.fmin_hz {spec.fmin_hz:g}, mel.fmax_hz {spec.fmax_hz:g}: expected the first below the second, and "
            f"both at most half of mel.sample_rate_hz, {spec.sample_rate_hz / 2:g}"
        )
    if spec.n_mels % BANDS_IN_A_WORD:
        raise ValueError(f"mel.n_mels {spec.n_mels}: expected a multiple of {BANDS_IN_A_WORD}")
    filters = mel_filterbank(spec)
    if empty := int((~filters.any(axis=0)).sum()):
        raise ValueError(
            f"mel.n_mels {spec.n_mels} with mel.n_fft {spec.n_fft}: {empty} bands are narrower than a bin of the "
            "transform and would be empty; expected fewer bands or a longer transform"
        )
    silence = math.sqrt(spec.power_epsilon) * float(filters.sum(axis=0).max())
    if silence > spec.floor:
        raise ValueError(
            f"mel.floor {spec.floor:g} with mel.power_epsilon {spec.power_epsilon:g}: silence is {silence:.2g} in a "
            "band; expected a floor that is not below it, or a smaller epsilon"
        )


def _check_frames(spec: FeatureSpec) -> None:
    """Raises ValueError if the frames of a spec are too many, too few, or not within the window."""
    if 2 * spec.hop_samples > spec.n_fft:
        raise ValueError(f"mel.hop_samples {spec.hop_samples} is more than half of mel.n_fft {spec.n_fft}")
    if spec.n_fft % 2 or spec.hop_samples % 2:
        raise ValueError(f"mel.n_fft {spec.n_fft}, mel.hop_samples {spec.hop_samples}: expected even numbers")
    low, high = FRAMES_PER_SECOND
    if not low <= spec.frames_per_second <= high:
        raise ValueError(
            f"mel.hop_samples {spec.hop_samples} at {spec.sample_rate_hz:,} Hz: {spec.frames_per_second:.1f} frames "
            f"per second, expected {low} to {high}"
        )
