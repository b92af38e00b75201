"""Reading a recording block by block."""

from __future__ import annotations

import errno
import io
import tracemalloc
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
import soxr

from preprocess.audio import decode_audio
from preprocess.audio_parts import read_part
from preprocess.sound_blocks import read_blocks
from preprocess.utterance import Reason, Rejected
from preprocess.watched_file import WatchedFile

RATE_HZ = 22050


def sweep(seconds: float) -> np.ndarray:
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (0.3 * np.sin(2 * np.pi * (200 + 30 * t) * t)).astype(np.float32)


def read(path: Path, *, rate_hz: int = 16_000) -> np.ndarray:
    return np.concatenate(list(read_blocks(path, rate_hz=rate_hz)))


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "mp3"])
def test_blocks_together_are_the_recording_resampled_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    soundfile.write(path, np.stack([sweep(25.3), 0.5 * sweep(25.3)], axis=1), RATE_HZ)
    whole = decode_audio(path.read_bytes(), max_duration_s=60)
    expected = soxr.resample(whole.samples, whole.rate_hz, 16_000, quality="HQ")
    found = read(path)
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def write_m4a(path: Path, *, pieces: list[tuple[float, np.ndarray]]) -> None:
    """Write pieces of sound, each at its time in seconds."""
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("alac", rate=RATE_HZ, layout="mono")
        for at_s, samples in pieces:
            whole = (samples[: len(samples) // 4096 * 4096] * 32767).astype(np.int16)
            for start in range(0, len(whole), 4096):
                frame = av.AudioFrame.from_ndarray(whole[None, start : start + 4096], format="s16p", layout="mono")
                frame.sample_rate, frame.pts = RATE_HZ, round(at_s * RATE_HZ) + start
                container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def test_an_m4a_is_read_frame_by_frame(tmp_path: Path) -> None:
    samples = sweep(3.0)
    write_m4a(tmp_path / "x.m4a", pieces=[(0.0, samples)])
    found = read(tmp_path / "x.m4a", rate_hz=RATE_HZ)
    assert len(found) == len(samples) // 4096 * 4096
    np.testing.assert_allclose(found, samples[: len(found)], atol=1e-4)


def test_a_gap_between_the_times_of_two_frames_is_rejected(tmp_path: Path) -> None:
    """As telephones write after a pause of the recording: a part is found by the times."""
    write_m4a(tmp_path / "x.m4a", pieces=[(0.0, sweep(2.0)), (2.5, sweep(2.0))])
    with pytest.raises(Rejected, match=r"its frames have 1\.\d+ s of sound where the time is 2\.500 s; make a FLAC"):
        read(tmp_path / "x.m4a")


@pytest.mark.parametrize("kind", ["flac", "ogg", "mp3", "m4a"])
def test_a_part_by_the_reader_has_the_samples_of_the_blocks(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    if kind == "m4a":
        write_m4a(path, pieces=[(0.0, sweep(12.0))])
    else:
        soundfile.write(path, sweep(12.0), RATE_HZ)
    whole = read(path, rate_hz=RATE_HZ)
    with path.open("rb", buffering=0) as file:
        part = decode_audio(read_part(file, start_s=5.0, end_s=6.5), max_duration_s=60).samples
    np.testing.assert_allclose(part, whole[5 * RATE_HZ : 5 * RATE_HZ + len(part)], atol=1e-5)


@pytest.mark.parametrize(
    ("value", "reason"),
    [(np.nan, Reason.NON_FINITE_AUDIO), (-np.inf, Reason.NON_FINITE_AUDIO), (20_000.0, Reason.UNREADABLE_AUDIO)],
)
def test_samples_that_are_none_are_rejected(value: float, reason: Reason, tmp_path: Path) -> None:
    samples = sweep(12.0)
    samples[11 * RATE_HZ] = value
    soundfile.write(tmp_path / "x.wav", samples, RATE_HZ, subtype="FLOAT")
    with pytest.raises(Rejected) as found:
        read(tmp_path / "x.wav")
    assert found.value.reason == reason


def test_an_error_of_the_disk_is_no_end_of_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.wav"
    soundfile.write(path, sweep(60.0), RATE_HZ)
    inner = WatchedFile.readinto

    def readinto(self: WatchedFile, buffer: memoryview) -> int:
        if self.tell() < 1_000_000:
            return inner(self, buffer)
        self.error = OSError(errno.EIO, "Input/output error")
        return 0

    monkeypatch.setattr(WatchedFile, "readinto", readinto)
    with pytest.raises(OSError, match="Input/output error"):
        read(path)


def test_a_flac_that_states_no_length_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.flac"
    soundfile.write(path, sweep(2.0), RATE_HZ)
    content = bytearray(path.read_bytes())
    content[21:26] = bytes([content[21] & 0xF0, 0, 0, 0, 0])  # the total of STREAMINFO, 36 bits
    path.write_bytes(content)
    with pytest.raises(Rejected, match="does not state its length"):
        read(path)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.flac"
    soundfile.write(path, np.tile(sweep(10.0), 60), RATE_HZ)  # ten minutes, 53 MB as float32
    tracemalloc.start()
    count = sum(map(len, read_blocks(path, rate_hz=16_000)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 600 * 16_000
    assert peak < 12e6


def test_a_recording_that_is_cut_off_or_none_is_rejected(tmp_path: Path) -> None:
    whole = io.BytesIO()
    soundfile.write(whole, sweep(5.0), RATE_HZ, format="FLAC")
    (tmp_path / "cut.flac").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
    (tmp_path / "none.wav").write_bytes(b"RIFF")
    soundfile.write(tmp_path / "empty.wav", np.empty(0), RATE_HZ)
    for name, words in (
        ("cut.flac", "libsndfile|samples"),
        ("none.wav", "libsndfile: "),
        ("empty.wav", "holds no samples"),
    ):
        with pytest.raises(Rejected, match=words):
            read(tmp_path / name)


def test_a_format_of_which_no_part_can_be_read_later_is_rejected(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "x.wav", sweep(1.0), 8000, subtype="GSM610")
    with pytest.raises(
        Rejected, match="no part of a recording in the format WAV with GSM610 can be read; make a FLAC of it"
    ) as found:
        read(tmp_path / "x.wav")
    assert found.value.reason == Reason.UNREADABLE_AUDIO
