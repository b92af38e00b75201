"""What was found out about a recording is kept while the file stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preprocess import recording_cache
from preprocess.recording_cache import RecordingCache
from preprocess.watched_file import WatchedFile
from tests.preprocess.test_audio_parts import FailingFile


@pytest.fixture
def reads() -> list[int]:
    return []


@pytest.fixture
def cache(reads: list[int]) -> RecordingCache[bytes]:
    """Keeps the first kilobyte of a file, and notes each time where its reading began."""

    def find(file: WatchedFile) -> bytes:
        reads.append(file.tell())
        return file.read(1000) or b""

    return RecordingCache(find)


def get(cache: RecordingCache[bytes], path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        watched = WatchedFile(file)
        watched.seek(2)
        return cache.get(watched)


def test_a_file_is_read_once_from_its_start_until_it_changes(
    tmp_path: Path, cache: RecordingCache[bytes], reads: list[int]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first")
    assert [get(cache, path) for _ in range(3)] == [b"first"] * 3
    assert reads == [0]
    state = path.stat()
    path.write_bytes(b"other")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # the time of its state changes nevertheless
    assert get(cache, path) == b"other"
    (tmp_path / "b").write_bytes(b"other")
    assert get(cache, tmp_path / "b") == b"other"
    assert reads == [0, 0, 0]


def test_few_recordings_are_kept(tmp_path: Path, cache: RecordingCache[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_cache, "MAX_RECORDINGS", 3)
    for place in range(6):
        path = tmp_path / str(place)
        path.write_bytes(b"recording %d" % place)
        assert get(cache, path) == path.read_bytes()
        assert len(cache) == min(place + 1, 3)


def test_nothing_is_kept_of_a_file_whose_reading_failed(
    tmp_path: Path, cache: RecordingCache[bytes], reads: list[int]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(1000))
    assert cache.get(WatchedFile(FailingFile(path, after_bytes=0))) == b""
    assert get(cache, path) == bytes(1000)
    assert reads == [0, 0]
