"""Audio decoding: the bytes of an audio file to one channel of float32 samples, and resampling."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from preprocess.containers import decode_container, find_demuxer
from preprocess.mp3_frames import count_mp3_samples, holds_another_mp3
from preprocess.stated_length import CHECKED_FORMATS, check_stated_length
from preprocess.utterance import Reason, Rejected
from preprocess.wav import check_truncation
from shared.records import PCM_FULL_SCALE, WAVEFORM_DTYPES

# Bounds on what a header states. Outside them the file is not speech, and decoding it would take much memory.
MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 384_000
MAX_CHANNELS = 16
MAX_DECODED_BYTES = 1 << 28  # of float32 samples: 60 s of 16 channels at 48 kHz are 184 MB

# Full scale is 1. Floating-point files with int16 values, or damaged ones, are far above; 40 dB above is no recording.
MAX_PEAK = 100.0

# The length in an mp3's header counts the encoder's delay, which decoding removes.
MPEG_SLACK_SAMPLES = 1152


class Signal(NamedTuple):
    """A mono signal."""

    samples: np.ndarray  # [S] float32, full scale ±1
    rate_hz: int

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz


def decode_audio(data: bytes, *, max_duration_s: float) -> Signal:
    """Decode wav, flac, mp3, ogg, opus or another format of `stated_length` or `containers`, and average the channels.

    Integer PCM is divided by its full scale (int16 / 32768), as the reference implementations do. The rate comes from
    the file's header. At most `max_duration_s` and one sample, or one frame of `containers`, are decoded, whatever
    length the header states.

    Raises:
        Rejected: the bytes are not audio, are empty, cut off, too long, or hold values that are not finite.
    """
    check_truncation(data)
    check_stated_length(data)
    check_ogg(data)
    demuxer = find_demuxer(data)
    if demuxer is None:
        samples, rate_hz = _decode(data, max_duration_s=max_duration_s)
    else:
        samples, rate_hz = decode_container(
            data,
            demuxer=demuxer,
            max_duration_s=max_duration_s,
            max_bytes=MAX_DECODED_BYTES,
            max_channels=MAX_CHANNELS,
        )
        check_rate(rate_hz if len(samples) else MIN_RATE_HZ)
    if len(samples) == 0:
        raise Rejected(Reason.EMPTY_AUDIO, "the file holds no samples")
    check_peak(samples)
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    return Signal(np.ascontiguousarray(mono), rate_hz)


def resample(signal: Signal, *, rate_hz: int) -> Signal:
    """Resample a signal by soxr HQ; a signal that has the rate already is returned unchanged."""
    if signal.rate_hz == rate_hz:
        return signal
    return Signal(soxr.resample(signal.samples, signal.rate_hz, rate_hz, quality="HQ"), rate_hz)


def to_pcm(samples: np.ndarray) -> np.ndarray:
    """Samples [S] as 16-bit PCM, [S] int16, little-endian; what exceeds full scale is clipped."""
    scaled = np.rint(samples * PCM_FULL_SCALE)
    return np.clip(scaled, -PCM_FULL_SCALE, PCM_FULL_SCALE - 1).astype(WAVEFORM_DTYPES["int16"])


def _decode(data: bytes, *, max_duration_s: float) -> tuple[np.ndarray, int]:
    """Samples [S, channels] float32 and their rate."""
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            check_header(file)
            limit = int(max_duration_s * file.samplerate) + 1
            check_size(min(limit, file.frames), channels=file.channels)
            samples = file.read(frames=limit, dtype="float32", always_2d=True)
            if len(samples) == limit:
                raise Rejected(Reason.UNDECODED_LENGTH, f"longer than {max_duration_s} s")
            _check_whole(len(samples), file=file, data=data)
            return samples, file.samplerate
    except soundfile.LibsndfileError as error:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"libsndfile: {error.error_string}") from error


def check_peak(samples: np.ndarray) -> None:
    """Raise Rejected if a sample is infinite, NaN, or far above full scale; there must be at least one sample."""
    peak = max(float(samples.max()), -float(samples.min()))  # NaN if the samples hold one
    if not np.isfinite(peak):
        raise Rejected(Reason.NON_FINITE_AUDIO, "the signal holds NaN or infinity")
    if peak > MAX_PEAK:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"a peak of {peak:.3g} in floating point, where full scale is 1")


def check_size(samples: int, *, channels: int) -> None:
    """Raise Rejected if so many samples of so many channels are more than a recording of speech can need."""
    if samples * channels * 4 > MAX_DECODED_BYTES:
        message = f"{samples} samples of {channels} channels: over {MAX_DECODED_BYTES >> 20} MiB when decoded"
        raise Rejected(Reason.UNDECODED_LENGTH, message)


def _check_whole(samples: int, *, file: soundfile.SoundFile, data: bytes) -> None:
    """Raise Rejected if a file holds more samples than were decoded."""
    is_mpeg = file.format in ("MP3", "MPEG")
    if is_mpeg and holds_another_mp3(data):
        raise Rejected(Reason.UNREADABLE_AUDIO, "several mp3s one after the other: only the first would be heard")
    counted = count_mp3_samples(data) if is_mpeg else None
    slack = MPEG_SLACK_SAMPLES if is_mpeg else 0
    if counted is None and samples < file.frames - slack:
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{samples} samples, its header says {file.frames}")
    if counted is not None and samples < counted - 2 * slack:
        remedy = "its bit rate varies and no header tells its length: encode it anew"
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{samples} samples, its frames hold {counted}; {remedy}")


def check_header(file: soundfile.SoundFile) -> None:
    """Raise Rejected if the rate or the channels that a file states are not those of speech, or its format is rare."""
    if file.format not in CHECKED_FORMATS:
        message = f"the format {file.format}, whose files do not tell whether they are whole; make a FLAC of it"
        raise Rejected(Reason.UNREADABLE_AUDIO, message)
    check_rate(file.samplerate)
    if file.channels > MAX_CHANNELS:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"{file.channels} channels")


def check_rate(rate_hz: int) -> None:
    """Raise Rejected if a rate is not that of speech."""
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise Rejected(Reason.UNREADABLE_AUDIO, f"a sample rate of {rate_hz} Hz")


def check_ogg(data: bytes) -> None:
    """Raise Rejected for an ogg whose last page is cut off.

    A recorder that is stopped marks no page as the end of the stream. Then the last page must end the file, and a
    packet; whether one more page was lost cannot be seen.
    """
    if data[:4] != b"OggS":
        return
    page = data[data.rfind(b"OggS") :]
    segments = page[27 : 27 + page[26]] if len(page) > 27 else b""
    size = 27 + len(segments) + sum(segments)
    is_whole = segments and len(segments) == page[26] and len(page) >= size
    if not is_whole or (not page[5] & 4 and (len(page) > size or segments[-1] == 255)):
        raise Rejected(Reason.TRUNCATED_AUDIO, "the last page of the ogg stream is cut off")
