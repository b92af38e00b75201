"""Audio files: the formats by suffix, scaling, faults of the disk."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from preprocess.audio import decode_audio
from shared.errors import UserError
from trainer.speech.audio_file import STREAM_FORMATS, encode_stream, output_of, write_array, write_audio

RATE_HZ = 22_050
TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE_HZ) / RATE_HZ).astype(np.float32)


def check_tone(samples: np.ndarray, *, rate_hz: int, expected_hz: int, tolerance: float) -> None:
    assert rate_hz == expected_hz
    assert abs(len(samples) / rate_hz - 1.0) < 0.12  # mp3 is padded to whole frames
    middle = samples[rate_hz // 4 : 3 * rate_hz // 4] * np.hanning(rate_hz // 2)
    spectrum = np.abs(np.fft.rfft(middle)) * 4 / len(middle)
    assert spectrum[220] == pytest.approx(0.5, abs=tolerance)  # bins of 2 Hz
    assert np.delete(spectrum, range(216, 225)).max() < tolerance


@pytest.mark.parametrize(
    ("suffix", "container", "tolerance"),
    [("wav", "WAV", 1e-4), ("FLAC", "FLAC", 1e-4), ("ogg", "OGG", 0.05), ("opus", "OGG", 0.05), ("mp3", "MP3", 0.05)],
)
def test_a_file_has_the_format_of_its_suffix(tmp_path: Path, suffix: str, container: str, tolerance: float) -> None:
    path = tmp_path / "new" / f"tone.{suffix}"
    write_audio(path, [TONE[:10_000], TONE[10_000:]], rate_hz=RATE_HZ)
    assert (soundfile.info(path).format, soundfile.info(path).channels) == (container, 1)
    samples, rate_hz = soundfile.read(path, dtype="float32")
    check_tone(samples, rate_hz=rate_hz, expected_hz=24_000 if suffix == "opus" else RATE_HZ, tolerance=tolerance)
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


def test_an_output_that_cannot_be_written_is_told_before_anything_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/hello\.wav: cannot be written \(.*/file: Not a directory\)"):
        output_of(str(tmp_path / "file" / "hello.wav"))
    assert output_of(str(tmp_path / "a/b/hello.wav")).path == tmp_path / "a/b/hello.wav"  # its folders are made
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    with pytest.raises(UserError, match=rf"hello\.wav: cannot be written \({tmp_path}: Permission denied\)"):
        output_of(str(tmp_path / "a/hello.wav"))


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


@pytest.mark.parametrize(("name", "tolerance"), [("wav", 1e-3), ("flac", 1e-3), ("ogg", 0.05), ("opus", 0.05)])
def test_a_stream_is_decoded_to_what_was_spoken(name: str, tolerance: float) -> None:
    chunks = list(encode_stream([TONE[:10_000], TONE[10_000:]], name=name, rate_hz=RATE_HZ))
    data = b"".join(chunks)
    if name == "flac":  # libsndfile does not read past a length that is unknown: 36 bits of the header
        data = data[:22] + (int.from_bytes(data[22:26], "big") | len(TONE)).to_bytes(4, "big") + data[26:]
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    expected_hz = 24_000 if name == "opus" else RATE_HZ
    check_tone(samples, rate_hz=rate_hz, expected_hz=expected_hz, tolerance=tolerance)


def test_an_mp3_stream_is_a_whole_recording_to_the_corpus_readers() -> None:
    signal = decode_audio(b"".join(encode_stream([TONE], name="mp3", rate_hz=RATE_HZ)), max_duration_s=2.0)
    check_tone(signal.samples, rate_hz=signal.rate_hz, expected_hz=RATE_HZ, tolerance=0.05)


def test_pcm_is_samples_at_24_khz_and_nothing_else() -> None:
    data = b"".join(encode_stream([TONE], name="pcm", rate_hz=RATE_HZ))
    samples = np.frombuffer(data, "<i2") / 2.0**15
    assert len(samples) == 24_000
    check_tone(samples, rate_hz=24_000, expected_hz=24_000, tolerance=2e-3)


@pytest.mark.parametrize("name", STREAM_FORMATS)
def test_bytes_come_before_the_next_block_is_made(name: str) -> None:
    made: list[int] = []

    def blocks() -> Iterator[np.ndarray]:
        for number in range(3):
            made.append(number)
            yield TONE

    stream = encode_stream(blocks(), name=name, rate_hz=RATE_HZ)
    assert next(stream)
    assert made == [0]
    assert len(b"".join(stream)) > 0
    assert made == [0, 1, 2]
