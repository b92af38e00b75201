"""Reading a recording block by block."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from preprocess.audio import decode_audio
from preprocess.sound_blocks import read_blocks
from preprocess.utterance import Reason, Rejected

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


def test_an_m4a_is_read_frame_by_frame(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path, samples = tmp_path / "x.m4a", sweep(3.0)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("alac", rate=RATE_HZ, layout="mono")
        frame = av.AudioFrame.from_ndarray((samples * 32767).astype(np.int16)[None], format="s16p", layout="mono")
        frame.sample_rate = RATE_HZ
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    found = read(path, rate_hz=RATE_HZ)
    np.testing.assert_allclose(found[: len(samples)], samples, atol=1e-4)


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
    (tmp_path / "empty.wav").write_bytes(b"")
    for name in ("cut.flac", "none.wav", "empty.wav"):
        with pytest.raises(Rejected):
            read(tmp_path / name)


def test_a_format_of_which_no_part_can_be_read_later_is_rejected(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "x.wav", sweep(1.0), 8000, subtype="GSM610")
    with pytest.raises(Rejected, match="no part of WAV with GSM610 can be read; make a FLAC of it") as found:
        read(tmp_path / "x.wav")
    assert found.value.reason == Reason.UNREADABLE_AUDIO
