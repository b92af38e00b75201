"""Parts that FFmpeg reads, of mp3 and mp4, equal the same samples of the whole recording."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import soundfile

from preprocess.audio import decode_audio
from preprocess.audio_file import recording_sha256
from preprocess.audio_parts import read_part
from preprocess.utterance import Reason, Rejected
from tests.preprocess.test_audio_parts import RATE_HZ, FailingFile, mp3, part_of, random_parts, reason_of, speechlike
from tests.preprocess.test_containers import encoded


def decoded_by_ffmpeg(path: Path) -> np.ndarray:
    """All samples [S, channels] of a recording."""
    with av.open(str(path)) as container:
        return np.concatenate([frame.to_ndarray() for frame in container.decode(audio=0)], axis=1).T


@pytest.mark.parametrize(
    ("rate_hz", "channels", "mode", "has_length"),
    [
        (16_000, 1, "CONSTANT", True),
        (16_000, 2, "VARIABLE", True),
        (16_000, 1, "CONSTANT", False),
        (44_100, 2, "CONSTANT", False),
        (44_100, 1, "VARIABLE", True),
    ],
)
def test_a_part_of_an_mp3_has_the_very_samples_of_the_whole_without_a_word(
    rate_hz: int, channels: int, mode: str, has_length: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.mp3"
    path.write_bytes(mp3(speechlike(channels, rate_hz=rate_hz), rate_hz=rate_hz, mode=mode, has_length=has_length))
    whole = decoded_by_ffmpeg(path)
    capfd.readouterr()
    parts = [(0, 2.5), (0.01, 1), (0.99, 2), (1.01, 2), (18.5, 19.9), (17, None), *random_parts(5)]
    found = [part_of(path, start_s=start_s, end_s=end_s)[0] for start_s, end_s in parts]
    assert capfd.readouterr() == ("", "")
    other, _ = soundfile.read(path, dtype="float32", always_2d=True)
    assert np.abs(whole - other[: len(whole)]).max() < 1e-4  # libsndfile's decoder begins with the same sample
    for (start_s, end_s), samples in zip(parts, found, strict=True):
        stop = len(whole) if end_s is None else round(end_s * rate_hz)
        np.testing.assert_array_equal(samples, whole[round(start_s * rate_hz) : stop])


@pytest.mark.parametrize(
    ("kind", "codec", "rate_hz"),
    [("ipod", "alac", 16_000), ("mp4", "flac", 16_000), ("mp4", "libopus", 48_000), ("mov", "pcm_s16le", 22_050)],
)
def test_a_part_of_an_mp4_has_the_very_samples_of_the_whole(
    kind: str, codec: str, rate_hz: int, tmp_path: Path
) -> None:
    path = tmp_path / "long.m4a"
    samples = (speechlike(rate_hz=rate_hz) * 32767).astype(np.int16)[:, 0]
    path.write_bytes(encoded(samples, kind=kind, codec=codec, rate_hz=rate_hz))
    whole = decode_audio(path.read_bytes(), max_duration_s=30).samples[:, None]
    for start_s, end_s in [(0, 2.5), (0.01, 1), (1.01, 2), (18.5, 20), (17, None), *random_parts(5)]:
        expected = whole[round(start_s * rate_hz) : None if end_s is None else round(end_s * rate_hz)]
        found = part_of(path, start_s=start_s, end_s=end_s)[0]
        np.testing.assert_array_equal(found[: len(expected)], expected)
        assert len(found) <= len(expected) + 4096  # silence that fills up the last frame


def test_a_part_of_aac_is_where_it_is_in_the_whole_and_equal_every_time(tmp_path: Path) -> None:
    path = tmp_path / "long.m4a"
    samples = (speechlike() * 32767).astype(np.int16)[:, 0]
    path.write_bytes(encoded(samples, kind="ipod", codec="aac", rate_hz=RATE_HZ))
    whole = decode_audio(path.read_bytes(), max_duration_s=30).samples
    for start_s, end_s in [(0, 2.5), (0.01, 1), (1.01, 2), (18.5, 20), *random_parts(5)]:
        found = part_of(path, start_s=start_s, end_s=end_s)[0][:, 0]
        expected = whole[round(start_s * RATE_HZ) : round(end_s * RATE_HZ)]
        assert np.abs(found - expected).max() < 0.02  # the noise that the decoder makes up is another one
        assert np.corrcoef(found, expected)[0, 1] > 0.999
        assert recording_sha256(f"{path}#t={start_s},{end_s}") == recording_sha256(f"{path}#t={start_s},{end_s}")


def test_the_frames_of_an_mp3_are_looked_for_once_and_anew_when_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, original = list[str](), av.open
    monkeypatch.setattr(av, "open", lambda *args, **options: opened.append("file") or original(*args, **options))
    path, other = tmp_path / "a.mp3", tmp_path / "b.mp3"
    for file, samples in ((path, speechlike()), (other, speechlike()[::-1])):
        file.write_bytes(mp3(samples, rate_hz=RATE_HZ, mode="VARIABLE", has_length=True))
    expected = {file: decoded_by_ffmpeg(file) for file in (path, other)}
    opened.clear()
    for start_s in (3, 17, 8, 0):
        found, _ = part_of(path, start_s=start_s, end_s=start_s + 2)
        np.testing.assert_array_equal(found, expected[path][start_s * RATE_HZ : (start_s + 2) * RATE_HZ])
    assert len(opened) == 1
    path.write_bytes(other.read_bytes())
    found, _ = part_of(path, start_s=8, end_s=10)
    np.testing.assert_array_equal(found, expected[other][8 * RATE_HZ : 10 * RATE_HZ])
    assert len(opened) == 2


def test_a_disk_that_fails_while_frames_are_looked_for_leaves_nothing_wrong_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(mp3(speechlike(), rate_hz=RATE_HZ, mode="CONSTANT", has_length=True))
    for after_bytes in range(40_000, path.stat().st_size, 10_000):
        with pytest.raises(OSError, match="Input/output error"):
            read_part(FailingFile(path, after_bytes=after_bytes), start_s=1, end_s=2)
    found, _ = part_of(path, start_s=17, end_s=19)
    np.testing.assert_array_equal(found, decoded_by_ffmpeg(path)[17 * RATE_HZ : 19 * RATE_HZ])


class CountedFile(io.FileIO):
    """A file that counts the bytes that are read of it."""

    read_bytes = 0

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.read_bytes += count or 0
        return count


def bytes_read_for(path: Path, *, start_s: float) -> int:
    with CountedFile(path) as file:
        read_part(file, start_s=start_s, end_s=start_s + 1)
        return file.read_bytes


def test_of_an_mp4_only_what_is_needed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.m4a"
    samples = np.random.default_rng(0).integers(-20_000, 20_000, 100 * RATE_HZ).astype(np.int16)
    path.write_bytes(encoded(samples, kind="ipod", codec="alac", rate_hz=RATE_HZ))
    assert path.stat().st_size > 3_000_000
    assert bytes_read_for(path, start_s=60) < 500_000


def test_an_mp4_in_fragments_with_an_index_is_read_whole_for_its_first_part_only(tmp_path: Path) -> None:
    path, rate_hz = tmp_path / "streamed.m4a", 48_000
    samples = np.random.default_rng(0).integers(-20_000, 20_000, 60 * rate_hz).astype(np.int16)
    options = {"movflags": "+dash+global_sidx", "frag_duration": "5000000"}
    path.write_bytes(encoded(samples, kind="mp4", codec="flac", rate_hz=rate_hz, options=options, folder=tmp_path))
    assert b"sidx" in path.read_bytes()
    assert bytes_read_for(path, start_s=40) > path.stat().st_size > 3_000_000
    assert bytes_read_for(path, start_s=20) < 1_500_000
    found, _ = part_of(path, start_s=20, end_s=21)
    np.testing.assert_array_equal(np.round(found[:, 0] * 32768), samples[20 * rate_hz : 21 * rate_hz])
    path.write_bytes(path.read_bytes()[:-1000])  # another file by its size and times
    assert reason_of(path, "20,21")[0] == Reason.TRUNCATED_AUDIO


def test_an_mp3_whose_rate_or_channels_change_is_rejected(tmp_path: Path) -> None:
    first, second, third = (
        mp3(speechlike(channels, rate_hz=rate_hz), rate_hz=rate_hz, mode="CONSTANT", has_length=False)
        for channels, rate_hz in ((1, 16_000), (1, 44_100), (2, 16_000))
    )
    for name, other in (("rate", second), ("channels", third)):
        path = tmp_path / f"{name}.mp3"
        path.write_bytes(first + other)
        assert len(part_of(path, start_s=1, end_s=2)[0]) == RATE_HZ
        with pytest.raises(Rejected):
            part_of(path, start_s=19.5, end_s=21)


def test_without_ffmpeg_a_part_of_an_mp3_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mp3"
    soundfile.write(path, speechlike(), RATE_HZ)
    monkeypatch.setitem(sys.modules, "av", None)
    assert "pip install 'myxtts[formats]'" in reason_of(path, "1,2")[1]
