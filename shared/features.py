"""The mel spectrogram's settings: feature spec, named presets, and mel filterbank.

There is one mel in the product. Preparation computes it, the trainer reads it, and vocoders trained by
others must agree with it. Each preset therefore equals a published implementation number by number:

    hifigan-22k       jik876/hifi-gan config_v1.json, meldataset.py
    bigvgan-24k-100   NVIDIA/BigVGAN bigvgan_v2_24khz_100band_256x
    vocos-24k         gemelo-ai/vocos feature_extractors.py, padding "center"
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from shared.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class FeatureSpec:
    """All settings that determine the values of a mel frame."""

    name: str
    sample_rate_hz: int
    n_fft: int  # also the length of the window, a periodic Hann
    hop_samples: int
    pad_samples: int  # reflect padding on each side; the transform itself does not centre frames
    n_mels: int
    fmin_hz: float
    fmax_hz: float
    mel_scale: str  # "slaney" or "htk"
    mel_norm: str | None  # "slaney" (unit area) or None (unit peak)
    power_epsilon: float  # added to re² + im² before the root
    floor: float  # lower bound of the mel magnitude before its natural logarithm

    @property
    def log_silence(self) -> float:
        """The value of a silent frame; padding has it too."""
        return math.log(self.floor)

    @property
    def frames_per_second(self) -> float:
        return self.sample_rate_hz / self.hop_samples

    @property
    def min_samples(self) -> int:
        """The shortest signal that can be reflected and fills one frame."""
        return max(self.pad_samples + 1, self.n_fft - 2 * self.pad_samples)

    def num_frames(self, samples: int) -> int:
        """The number of frames of a signal with this many samples."""
        return (samples + 2 * self.pad_samples - self.n_fft) // self.hop_samples + 1


CUSTOM = "custom"  # the name of a feature spec that is no preset's

PRESETS = {
    spec.name: spec
    for spec in (
        FeatureSpec(
            name="hifigan-22k",
            sample_rate_hz=22050,
            n_fft=1024,
            hop_samples=256,
            pad_samples=384,
            n_mels=80,
            fmin_hz=0.0,
            fmax_hz=8000.0,
            mel_scale="slaney",
            mel_norm="slaney",
            power_epsilon=1e-9,
            floor=1e-5,
        ),
        FeatureSpec(
            name="bigvgan-24k-100",
            sample_rate_hz=24000,
            n_fft=1024,
            hop_samples=256,
            pad_samples=384,
            n_mels=100,
            fmin_hz=0.0,
            fmax_hz=12000.0,
            mel_scale="slaney",
            mel_norm="slaney",
            power_epsilon=1e-9,
            floor=1e-5,
        ),
        FeatureSpec(
            name="vocos-24k",
            sample_rate_hz=24000,
            n_fft=1024,
            hop_samples=256,
            pad_samples=512,
            n_mels=100,
            fmin_hz=0.0,
            fmax_hz=12000.0,
            mel_scale="htk",
            mel_norm=None,
            power_epsilon=0.0,
            floor=1e-7,
        ),
    )
}


def preset(name: str) -> FeatureSpec:
    """Look up a feature spec by name.

    Raises:
        UserError: there is no preset of that name.
    """
    if name not in PRESETS:
        raise UserError(f"unknown feature preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def with_known_name(spec: FeatureSpec) -> FeatureSpec:
    """The preset that has the values of a spec, whatever its name; the spec as `CUSTOM` if none has them."""
    for known in PRESETS.values():
        if dataclasses.replace(spec, name=known.name) == known:
            return known
    return dataclasses.replace(spec, name=CUSTOM)


@functools.cache
def mel_filterbank(spec: FeatureSpec) -> np.ndarray:
    """Triangular filters on the spec's mel scale, [n_fft // 2 + 1, n_mels] float32.

    Defined as `librosa.filters.mel` (Slaney's Auditory Toolbox, 1998) and, for HTK without norm, as
    `torchaudio.functional.melscale_fbanks`.
    """
    bins_hz = np.linspace(0.0, spec.sample_rate_hz * (spec.n_fft // 2) / spec.n_fft, spec.n_fft // 2 + 1)
    to_mel, to_hz = _SCALES[spec.mel_scale]
    edges_mel = np.linspace(to_mel(spec.fmin_hz), to_mel(spec.fmax_hz), spec.n_mels + 2)
    edges_hz = to_hz(edges_mel)
    widths_hz = np.diff(edges_hz)
    rising = (bins_hz[:, None] - edges_hz[None, :-2]) / widths_hz[None, :-1]
    falling = (edges_hz[None, 2:] - bins_hz[:, None]) / widths_hz[None, 1:]
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if spec.mel_norm == "slaney":
        filters = filters * (2.0 / (edges_hz[2:] - edges_hz[:-2]))
    filters = filters.astype(np.float32)
    filters.setflags(write=False)
    return filters


@functools.cache
def window(spec: FeatureSpec) -> np.ndarray:
    """The periodic Hann window of a spec, [n_fft] float32."""
    return hann(spec.n_fft)


def hann(samples: int) -> np.ndarray:
    """A periodic Hann window, [samples] float32, bit for bit that of `scipy.signal`, whose import takes 0.6 s."""
    return (0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, samples + 1)))[:-1].astype(np.float32)


# Slaney's scale: linear up to 1000 Hz (15 mel), then 27 logarithmic steps for each factor of 6.4.
_LINEAR_HZ_PER_MEL = 200.0 / 3
_BREAK_HZ = 1000.0
_BREAK_MEL = _BREAK_HZ / _LINEAR_HZ_PER_MEL
_LOG_STEP = math.log(6.4) / 27.0


def _hz_to_slaney(hz: float) -> float:
    return hz / _LINEAR_HZ_PER_MEL if hz < _BREAK_HZ else _BREAK_MEL + math.log(hz / _BREAK_HZ) / _LOG_STEP


def _slaney_to_hz(mel: np.ndarray) -> np.ndarray:
    logarithmic = _BREAK_HZ * np.exp(_LOG_STEP * (mel - _BREAK_MEL))
    return np.where(mel < _BREAK_MEL, mel * _LINEAR_HZ_PER_MEL, logarithmic)


def _hz_to_htk(hz: float) -> float:
    return 2595.0 * math.log10(1.0 + hz / 700.0)


def _htk_to_hz(mel: np.ndarray) -> np.ndarray:
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


_SCALES = {"slaney": (_hz_to_slaney, _slaney_to_hz), "htk": (_hz_to_htk, _htk_to_hz)}
