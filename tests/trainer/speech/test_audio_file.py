"""Audio files: the formats by suffix, scaling, faults of the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.errors import UserError
from trainer.speech.audio_file import write_array, write_audio

RATE_HZ = 22_050
TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE_HZ) / RATE_HZ).astype(np.float32)


@pytest.mark.parametrize(
    ("suffix", "container", "tolerance"),
    [("wav", "WAV", 1e-4), ("FLAC", "FLAC", 1e-4), ("ogg", "OGG", 0.05), ("mp3", "MP3", 0.05)],
)
def test_a_file_has_the_format_of_its_suffix(tmp_path: Path, suffix: str, container: str, tolerance: float) -> None:
    path = tmp_path / "new" / f"tone.{suffix}"
    assert write_audio(path, [TONE[:10_000], TONE[10_000:]], rate_hz=RATE_HZ) == len(TONE)
    assert (soundfile.info(path).format, soundfile.info(path).channels) == (container, 1)
    samples, rate_hz = soundfile.read(path, dtype="float32")
    assert rate_hz == RATE_HZ
    assert abs(len(samples) - len(TONE)) < 2_500  # mp3 is padded to whole frames
    middle = slice(8_000, 12_000)
    spectra = (np.abs(np.fft.rfft(one[middle])) for one in (samples, TONE))
    np.testing.assert_allclose(*spectra, atol=tolerance * 2_000)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_block_louder_than_full_scale_is_scaled_and_not_cut(tmp_path: Path) -> None:
    write_audio(tmp_path / "loud.wav", [6 * TONE, TONE], rate_hz=RATE_HZ)
    written, _ = soundfile.read(tmp_path / "loud.wav", dtype="float32")
    np.testing.assert_allclose(written, np.concatenate([2 * TONE, TONE]), atol=1e-3)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/hello\.wav: cannot be written"):
        write_audio(tmp_path / "file" / "hello.wav", [TONE], rate_hz=RATE_HZ)
    with pytest.raises(UserError, match=r"file/mel\.npy: cannot be written"):
        write_array(tmp_path / "file" / "mel.npy", TONE)


def test_a_fault_while_speaking_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    write_audio(path, [TONE], rate_hz=RATE_HZ)
    before = path.read_bytes()

    def blocks():
        yield TONE
        raise RuntimeError("the model failed")

    with pytest.raises(RuntimeError, match="the model failed"):
        write_audio(path, blocks(), rate_hz=RATE_HZ)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["speech.wav"]
