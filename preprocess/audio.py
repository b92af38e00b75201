"""Decoding: the bytes of an audio file to one channel of float32 at the wanted rate."""

from __future__ import annotations

import io
import math
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from preprocess.utterance import Reason, Rejected

# A header is a stranger's claim. Outside these bounds it is not speech, and would cost memory.
MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 384_000
MAX_CHANNELS = 16

# Full scale is 1. Floating-point files that hold int16 values, or damage, lie far above: 40 dB is no recording.
MAX_PEAK = 100.0


class Audio(NamedTuple):
    """A mono signal."""

    samples: np.ndarray  # [S] float32, full scale ±1
    rate_hz: int
    original_rate_hz: int

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz

    @property
    def peak(self) -> float:
        return float(np.max(np.abs(self.samples)))

    @property
    def rms_db(self) -> float:
        """Level in dB relative to full scale, -120 or more."""
        power = float(np.mean(np.square(self.samples, dtype=np.float64)))
        return 10.0 * math.log10(max(power, 1e-12))


def decode_audio(data: bytes, *, rate_hz: int, max_duration_s: float) -> Audio:
    """Decode wav, flac, mp3, ogg, opus or whatever else libsndfile reads; average the channels; resample.

    Integer PCM is divided by its full scale (int16 / 32768), as the reference implementations do. Resampling
    is soxr HQ. At most `max_duration_s` and one sample are ever decoded, whatever the header promises.

    Raises:
        Rejected: the bytes are not audio, are empty, too long, or hold values that are not finite.
    """
    samples, original_rate_hz = _decode(data, max_duration_s=max_duration_s)
    if len(samples) == 0:
        raise Rejected(Reason.EMPTY_AUDIO, "the file holds no samples")
    if not np.isfinite(samples).all():
        raise Rejected(Reason.NON_FINITE_AUDIO, "the signal holds NaN or infinity")
    if (peak := np.max(np.abs(samples))) > MAX_PEAK:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"a peak of {peak:.3g} in floating point, where full scale is 1")
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    if original_rate_hz != rate_hz:
        mono = soxr.resample(mono, original_rate_hz, rate_hz, quality="HQ")
    return Audio(np.ascontiguousarray(mono), rate_hz, original_rate_hz)


def _decode(data: bytes, *, max_duration_s: float) -> tuple[np.ndarray, int]:
    """Samples [S, channels] float32 and their rate."""
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            _check_header(file)
            limit = int(max_duration_s * file.samplerate) + 1
            samples = file.read(frames=limit, dtype="float32", always_2d=True)
            if len(samples) == limit:
                raise Rejected(Reason.TOO_LONG, f"longer than {max_duration_s} s")
            return samples, file.samplerate
    except soundfile.LibsndfileError as error:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"libsndfile: {error.error_string}") from error


def _check_header(file: soundfile.SoundFile) -> None:
    if not MIN_RATE_HZ <= file.samplerate <= MAX_RATE_HZ:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"a sample rate of {file.samplerate} Hz")
    if file.channels > MAX_CHANNELS:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"{file.channels} channels")
