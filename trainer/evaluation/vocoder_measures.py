"""The measures of a vocoder: its sound for the mel of a recording is compared with the recording, frame by frame.

Spectral convergence and log-magnitude distance over three resolutions: Yamamoto, Song & Kim, 2020, "Parallel WaveGAN",
arXiv:1910.11480. Pitch, periodicity and voicing: Morrison et al., 2022, "Chunked autoregressive GAN", arXiv:2110.10139.
PESQ (ITU-T P.862.2, wide band) is measured where the package pesq is installed, STOI (Taal et al., 2011) where pystoi
is.
"""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

import librosa
import numpy as np
import soxr

from shared.features import FeatureSpec
from trainer.evaluation.dtw import DB_PER_NEPER
from trainer.evaluation.pitch import pitch_difference, pitch_track

RESOLUTIONS = ((1024, 120, 600), (2048, 240, 1200), (512, 50, 240))  # FFT, hop and window in samples
FLOOR = 1e-5  # of a magnitude
PESQ_RATE_HZ = 16_000


class VocoderMeasures(NamedTuple):
    """How far a sound is from a recording; nan: not measured."""

    spectral_convergence: float  # |difference of magnitudes| over |magnitudes|, mean of the resolutions
    log_magnitude_distance: float  # mean |difference| in ln magnitude
    mel_distance_db: float  # mean |difference|
    f0_rms_cents: float  # of frames that are voiced in both
    voicing_error: float  # share of frames that are voiced in one of them only
    periodicity_rms: float  # of the probabilities that a frame is voiced
    pesq: float  # 1 to 4.6
    stoi: float  # 0 to 1


def compare_with_recording(
    samples: np.ndarray, recording: np.ndarray, *, mels: tuple[np.ndarray, np.ndarray], spec: FeatureSpec
) -> VocoderMeasures:
    """Compare a sound [S] with a recording [S] of the same length, both float32 at the spec's rate.

    Args:
        mels: of both, [F, M] in ln magnitude.
    """
    convergence, log_distance = stft_distances(samples, recording)
    rate_hz, frames = spec.sample_rate_hz, len(mels[0])
    tracks = [
        pitch_track(one, rate_hz=rate_hz, hop_samples=spec.hop_samples, frames=frames) for one in (samples, recording)
    ]
    pitch = pitch_difference(tracks[0].pitch_hz, tracks[1].pitch_hz, path=np.repeat(np.arange(frames)[:, None], 2, 1))
    periodicity = np.square(tracks[0].voiced_probability - tracks[1].voiced_probability).mean()
    return VocoderMeasures(
        spectral_convergence=convergence,
        log_magnitude_distance=log_distance,
        mel_distance_db=float(DB_PER_NEPER * np.abs(mels[0] - mels[1]).mean()),
        f0_rms_cents=pitch.rms_cents,
        voicing_error=pitch.voicing_error,
        periodicity_rms=float(np.sqrt(periodicity)),
        pesq=pesq_of(samples, recording, rate_hz=rate_hz),
        stoi=stoi_of(samples, recording, rate_hz=rate_hz),
    )


def stft_distances(samples: np.ndarray, recording: np.ndarray) -> tuple[float, float]:
    """Spectral convergence and log-magnitude distance, both means of three resolutions."""
    found = []
    for n_fft, hop, size in RESOLUTIONS:
        one, other = (
            np.maximum(np.abs(librosa.stft(y, n_fft=n_fft, hop_length=hop, win_length=size)), FLOOR)
            for y in (samples, recording)
        )
        found.append((np.linalg.norm(one - other) / np.linalg.norm(other), np.abs(np.log(one / other)).mean()))
    convergence, log_distance = np.mean(found, axis=0)
    return float(convergence), float(log_distance)


def pesq_of(samples: np.ndarray, recording: np.ndarray, *, rate_hz: int) -> float:
    """Wide-band PESQ; nan where the package is absent, finds no speech in the recording, or would compare silence."""
    if importlib.util.find_spec("pesq") is None or not samples.any():
        return float("nan")
    import pesq

    one, other = (soxr.resample(y, rate_hz, PESQ_RATE_HZ) for y in (samples, recording))
    try:
        return float(pesq.pesq(PESQ_RATE_HZ, other, one, "wb"))
    except (pesq.NoUtterancesError, pesq.BufferTooShortError):
        return float("nan")


def stoi_of(samples: np.ndarray, recording: np.ndarray, *, rate_hz: int) -> float:
    """STOI; nan where the package is absent."""
    if importlib.util.find_spec("pystoi") is None:
        return float("nan")
    import pystoi

    return float(pystoi.stoi(recording, samples, rate_hz))
