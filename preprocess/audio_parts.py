"""Reads a part of a long recording: from its first sample on, and nothing long before it is decoded.

libsndfile reads parts of its formats, except mp3: after a seek in an mp3, libsndfile gives other samples than after
decoding from the start (errors up to 0.05 of full scale), and prints a line. FFmpeg reads parts of mp3, m4a and mp4. No
part is read of the other formats that only `containers` reads: the times in such a file do not tell samples. A part has
the samples of a decoding of the whole recording; a part of Opus at few bits a second differs by up to 0.005 of full
scale.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Callable, Iterator

import numpy as np
import soundfile

from preprocess import container_checks
from preprocess.audio import MAX_DECODED_BYTES, MPEG_SLACK_SAMPLES, check_header, check_ogg, check_rate, check_size
from preprocess.containers import find_demuxer
from preprocess.ffmpeg_parts import read_mp4_part
from preprocess.mp3_frames import count_mp3_samples, first_frame_offset, starts_with_mp3_frame
from preprocess.mp3_parts import read_mp3_part
from preprocess.recording_cache import RecordingCache
from preprocess.stated_length import check_stated_length
from preprocess.utterance import Reason, Rejected
from preprocess.watched_file import FileSlices, WatchedFile
from preprocess.wav import check_truncation

MAX_MP3_FRAME_BYTES = 1 << 12
HEAD_BYTES = 1 << 16  # enough for `find_demuxer`
MAX_OVERSHOOT_S = 0.1  # alignments round; a part that ends so far behind its recording ends with it
MAX_FRAMES = 1 << 40
OPUS_LEAD_S = 4.0  # its decoder for speech predicts from what was before; at few bits it never forgets all of it
# the beginnings of subtypes in which libsndfile does not seek, or not exactly; mp3 in a wav is one of them
UNSEEKABLE = ("GSM", "G72", "DPCM", "NMS", "MPEG")
REMEDY = "make a FLAC of it: ffmpeg -i RECORDING RECORDING.flac"
FLOAT_WAV = 3  # the tag of IEEE floating point in a wav


def read_part(file: io.RawIOBase, *, start_s: float, end_s: float | None) -> bytes:
    """Read the samples from the one nearest to `start_s` up to the one before that nearest to `end_s`.

    Returns:
        A wav of float32 samples, at the rate and with the channels of the recording.

    Raises:
        Rejected: the file is no audio, or is damaged, or does not hold the part.
        OSError: the disk failed.
    """
    watched = WatchedFile(file)
    with translate_errors(watched):
        samples, rate_hz = _read(watched, start_s=start_s, end_s=end_s)
    return _wav(samples, rate_hz=rate_hz)


@contextlib.contextmanager
def translate_errors(file: WatchedFile) -> Iterator[None]:
    """Raise the error of a read that failed, whatever its reader made of it; else Rejected for one of libsndfile."""
    try:
        yield
    except soundfile.LibsndfileError as error:
        raise file.error or Rejected(Reason.UNREADABLE_AUDIO, f"libsndfile: {error.error_string}") from error
    except Rejected:
        if file.error is not None:
            raise file.error from None
        raise
    if file.error is not None:
        raise file.error


def _read(file: WatchedFile, *, start_s: float, end_s: float | None) -> tuple[np.ndarray, int]:
    """Samples [S, channels] float32 and their rate."""
    demuxer = find_demuxer(file.read(HEAD_BYTES) or b"")
    file.seek(0)
    if demuxer == "mov":
        check_mp4(file)
        return _within_recording(read_mp4_part, file, start_s=start_s, end_s=end_s)
    if demuxer is not None:
        raise without_parts(demuxer)
    rest = FileSlices(file)[:] if end_s is None else b""
    file.seek(0)
    if is_mp3(file):
        samples, rate_hz = _within_recording(read_mp3_part, file, start_s=start_s, end_s=end_s)
        _check_mp3(rest, samples=round(start_s * rate_hz) + len(samples))
        return samples, rate_hz
    check_truncation(rest)
    check_stated_length(rest)
    check_ogg(rest)
    with soundfile.SoundFile(file) as sound:
        check_has_parts(sound)
        return _read_sound(sound, start_s=start_s, end_s=end_s), sound.samplerate


def check_has_parts(sound: soundfile.SoundFile) -> None:
    """Raise Rejected if libsndfile cannot read parts of the recording, or if its header is not one of speech."""
    check_header(sound)
    if not sound.seekable() or sound.subtype.startswith(UNSEEKABLE):
        raise without_parts(f"{sound.format} with {sound.subtype}")
    if sound.frames > MAX_FRAMES:
        raise Rejected(Reason.UNDECODED_LENGTH, f"the recording does not state its length; {REMEDY}")


def without_parts(kind: str) -> Rejected:
    """The rejection of a recording whose format cannot be read in parts."""
    return Rejected(Reason.UNREADABLE_AUDIO, f"no part of a recording in the format {kind} can be read; {REMEDY}")


def is_mp3(file: WatchedFile) -> bool:
    """Whether a file begins with a frame of mp3, after its tag; the file is then again at its start."""
    file.seek(first_frame_offset(file.read(HEAD_BYTES) or b""))
    found = starts_with_mp3_frame(file.read(MAX_MP3_FRAME_BYTES) or b"")
    file.seek(0)
    return found


def _check_mp3(data: bytes, *, samples: int) -> None:
    """Raise Rejected if an mp3 has or states more samples than were decoded; empty data are not checked."""
    counted = count_mp3_samples(data)
    if counted is None and data:
        with soundfile.SoundFile(io.BytesIO(data)) as sound:
            counted = sound.frames
    if counted is not None and samples < counted - 2 * MPEG_SLACK_SAMPLES:
        raise Rejected(Reason.TRUNCATED_AUDIO, f"{samples} samples, expected {counted}: the recording is cut off")


def check_mp4(file: WatchedFile) -> None:
    """Raise Rejected for an mp4 that is cut off or states too much, which FFmpeg would believe."""
    CHECKED_MP4S.get(file)
    file.seek(0)


CHECKED_MP4S = RecordingCache(lambda file: container_checks.check_mp4(FileSlices(file)))


def _within_recording(
    read: Callable[..., tuple[np.ndarray, int]], file: WatchedFile, *, start_s: float, end_s: float | None
) -> tuple[np.ndarray, int]:
    """The samples that FFmpeg reads, and their rate; raises Rejected if the recording ends before the part."""
    samples, rate_hz = read(file, start_s=start_s, end_s=end_s, max_values=MAX_DECODED_BYTES // 4)
    check_rate(rate_hz)
    if end_s is not None:
        _within(round(end_s * rate_hz), frames=round(start_s * rate_hz) + len(samples), rate_hz=rate_hz)
    return samples, rate_hz


def _read_sound(sound: soundfile.SoundFile, *, start_s: float, end_s: float | None) -> np.ndarray:
    rate_hz, frames = sound.samplerate, sound.frames
    start = round(start_s * rate_hz)
    stop = frames if end_s is None else _within(round(end_s * rate_hz), frames=frames, rate_hz=rate_hz)
    if start >= stop:
        raise Rejected(Reason.EMPTY_AUDIO, f"no sample of the recording, which has {frames}")
    check_size(stop - start, channels=sound.channels)
    lead = min(start, int(OPUS_LEAD_S * rate_hz)) if sound.subtype == "OPUS" else 0
    sound.seek(start - lead)
    samples: np.ndarray = sound.read(frames=lead + stop - start, dtype="float32", always_2d=True)[lead:]
    if len(samples) < stop - start:
        message = f"{len(samples)} samples of a part of {stop - start}: the recording is cut off or damaged"
        raise Rejected(Reason.TRUNCATED_AUDIO, message)
    return samples


def _within(stop: int, *, frames: int, rate_hz: int) -> int:
    """The end of a part, at most that of its recording; raises Rejected if the recording ends too early."""
    if stop - frames > MAX_OVERSHOOT_S * rate_hz:
        message = f"the part ends at {stop / rate_hz:.3f} s, the recording at {frames / rate_hz:.3f} s"
        raise Rejected(Reason.TRUNCATED_AUDIO, message)
    return min(stop, frames)


def _wav(samples: np.ndarray, *, rate_hz: int) -> bytes:
    """A wav of float32 samples [S, channels]; libsndfile's own would hold the time of day."""
    data = np.ascontiguousarray(samples, "<f4").tobytes()
    channels = samples.shape[1]
    kind = struct.pack("<HHIIHH", FLOAT_WAV, channels, rate_hz, rate_hz * channels * 4, channels * 4, 32)
    chunks = b"WAVEfmt " + struct.pack("<I", len(kind)) + kind + b"data" + struct.pack("<I", len(data))
    return b"RIFF" + struct.pack("<I", len(chunks) + len(data)) + chunks + data
