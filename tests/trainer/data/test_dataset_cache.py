"""Datasets at addresses: what is copied to this machine, what is taken from older copies, what ends a copy."""

from __future__ import annotations

import collections
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.errors import UserError
from shared.files import temporary_path
from tests.trainer.data.published_files import FILES, FOR_TRAINING, SHARD, URL, checksums, publish, read, write
from trainer.data import dataset_cache
from trainer.data.dataset_cache import SPARE_BYTES, DatasetCopier, datasets_folder, local_dataset
from trainer.data.remote_dataset import RemoteDataset

COPIED = FOR_TRAINING | {"_SUCCESS": checksums(FILES)}


def copied(url: str = URL) -> Path:
    return local_dataset(url, log=lambda line: None)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return datasets_folder()


class Store:
    """Which files are read from the store, how often, and which ones the connection is lost for."""

    def __init__(self) -> None:
        self.reads, self.lost = collections.Counter[str](), set[str]()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    found, chunks = Store(), RemoteDataset.chunks

    def watched(remote: RemoteDataset, name: str) -> Iterator[bytes]:
        if name in found.lost:
            raise ConnectionResetError(104, "Connection reset by peer")
        found.reads.update([name] if name != "_SUCCESS" else [])
        return chunks(remote, name)

    monkeypatch.setattr(RemoteDataset, "chunks", watched)
    return found


def folders() -> list[Path]:
    return sorted(path for path in datasets_folder().iterdir() if path.is_dir())


def test_a_folder_is_used_as_it_is(cache: Path) -> None:
    assert local_dataset("data/sample", log=pytest.fail) == Path("data/sample")
    assert not cache.exists()


def test_copies_lie_in_the_home_folder_without_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert datasets_folder() == Path("/home/somebody/.cache/myxtts/datasets")


def test_the_files_that_training_reads_are_copied_once(store: Store, cache: Path) -> None:
    publish(FILES)
    lines: list[str] = []
    folder = local_dataset(f"{URL}/", log=lines.append)
    assert read(folder) == COPIED
    assert lines == [
        f"{URL}: 7 files, looking for them in {cache}",
        f"{URL}: copying 7 files, 0.00 GB, to {folder}",
    ]
    assert local_dataset(URL, log=pytest.fail) == folder
    assert store.reads == dict.fromkeys(FOR_TRAINING, 1)


def test_a_dataset_that_grew_brings_only_what_is_new(store: Store) -> None:
    publish(FILES)
    older = copied()
    publish({"dataset.json": b"1", "vocab.json": b"2"})
    copied()
    store.reads.clear()
    added = {"shards/b-train-00000-of-00001.tfrecord": b"new", "dataset.json": b"{ }"}
    publish(FILES | added)
    newer = copied()
    assert read(newer) == FOR_TRAINING | added | {"_SUCCESS": checksums(FILES | added)}
    assert store.reads == dict.fromkeys(added, 1)
    assert (newer / SHARD).samefile(older / SHARD)
    assert read(older) == COPIED


def test_what_is_damaged_or_absent_in_an_older_version_is_copied(store: Store) -> None:
    publish(FILES)
    older = copied()
    (older / SHARD).write_bytes(b"damaged")
    (older / "vocab.json").unlink()
    store.reads.clear()
    publish(FILES | {"dataset.json": b"{ }"})
    assert read(copied()) == FOR_TRAINING | {
        "dataset.json": b"{ }",
        "_SUCCESS": checksums(FILES | {"dataset.json": b"{ }"}),
    }
    assert store.reads == dict.fromkeys(("dataset.json", SHARD, "vocab.json"), 1)


def test_a_copy_that_was_interrupted_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_cache, "PARALLEL_FILES", 1)
    publish(FILES)
    store.lost.add(SHARD)
    with pytest.raises(UserError, match=rf"^{URL}: .*Connection reset by peer$"):
        copied()
    (folder,) = folders()
    before = read(folder)
    assert before.pop("_EXPECTED") == checksums(FILES)
    assert before
    assert before.items() < FOR_TRAINING.items()
    store.lost.clear()
    store.reads.clear()
    assert read(copied()) == COPIED
    assert store.reads == dict.fromkeys(FOR_TRAINING.keys() - before, 1)


def test_a_copy_that_a_newer_version_overtook_is_used_by_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_cache, "PARALLEL_FILES", 1)
    publish(FILES)
    store.lost.add(SHARD)
    with pytest.raises(UserError, match="Connection reset"):
        copied()
    store.lost.clear()
    store.reads.clear()
    newer = FILES | {"config.yaml": b"a: 2\n"}
    publish(newer)
    assert read(copied()) == FOR_TRAINING | {"config.yaml": b"a: 2\n", "_SUCCESS": checksums(newer)}
    assert "dataset.json" not in store.reads
    assert store.reads[SHARD] == 1


def test_a_file_of_a_copy_that_is_damaged_is_copied_again(store: Store) -> None:
    publish(FILES)
    folder = copied()
    (folder / "_SUCCESS").unlink()
    (folder / SHARD).write_bytes(b"damaged")
    store.reads.clear()
    assert read(copied()) == COPIED
    assert store.reads == {SHARD: 1}


def test_a_file_with_other_bytes_is_refused() -> None:
    publish(FILES, **{SHARD: bytes(256 * 40)})
    with pytest.raises(UserError, match=rf"^{URL}/{SHARD}: not the file that _SUCCESS states: sha256 .* expected .*"):
        copied()
    (folder,) = folders()
    assert "_SUCCESS" not in read(folder)
    assert SHARD not in read(folder)


def test_a_store_that_sends_more_than_it_stated_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(FILES)
    copier = DatasetCopier(RemoteDataset.open(URL), folder=tmp_path, log=pytest.fail)
    (tmp_path / "shards").mkdir()
    monkeypatch.setattr(RemoteDataset, "chunks", lambda remote, name: itertools.repeat(b"x"))
    came: list[int] = []
    with pytest.raises(UserError, match="not the file that _SUCCESS states"):
        copier.copy_file(SHARD, size_bytes=1000, advance=came.append)
    assert sum(came) == 1000
    assert read(tmp_path / "shards") == {}


def test_a_copy_that_fails_ends_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(FILES)
    store.lost.add(SHARD)
    chunks = RemoteDataset.chunks

    def endless(remote: RemoteDataset, name: str) -> Iterator[bytes]:
        return itertools.repeat(b"") if name == "vocab.json" else chunks(remote, name)

    monkeypatch.setattr(RemoteDataset, "chunks", endless)
    with pytest.raises(UserError, match="Connection reset"):
        copied()


def test_names_that_leave_the_folder_are_not_copied(tmp_path: Path) -> None:
    outside = {"../outside": b"1", f"{tmp_path}/outside": b"2", "shards/../../outside": b"3", "shards/other": b"4"}
    publish(FILES | outside)
    assert read(copied()).keys() == COPIED.keys()
    assert not list(tmp_path.rglob("outside"))


def test_several_processes_copy_a_dataset_once(store: Store) -> None:
    publish(FILES)
    threads = [threading.Thread(target=copied) for _ in range(4)]  # flock keeps open files apart, also of one process
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(copied()) == COPIED
    assert store.reads == dict.fromkeys(FOR_TRAINING, 1)


@pytest.mark.parametrize(("more_bytes", "is_full"), [(-1, True), (0, False)])
def test_a_full_disk_is_told_before_anything_is_copied(
    more_bytes: int, is_full: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FILES)
    needed = sum(map(len, FOR_TRAINING.values())) + SPARE_BYTES
    usage = shutil.disk_usage(".")._replace(free=needed + more_bytes)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    if is_full:
        with pytest.raises(UserError, match=r"0\.0 GB are to be copied, and .* has 1\.1 GB free; delete older"):
            copied()
        assert not store.reads
    else:
        copied()


def test_all_files_are_on_the_disk_before_the_copy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(descriptor: int) -> None:
        events.append(f"flush {Path(f'/proc/self/fd/{descriptor}').readlink()}")
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        events.append(f"rename {target}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    publish(FILES)
    folder = copied()
    last = events.index(f"rename {folder / '_SUCCESS'}")
    assert events[last + 1 :] == [f"flush {folder}"]
    assert {f"flush {path}" for path in (folder, folder / "shards", folder / "manifest")} <= set(events[:last])
    for name in FOR_TRAINING:
        (flush,) = (one for one in events if one.startswith("flush") and f"/.{Path(name).name}." in one)
        assert events.index(flush) < events.index(f"rename {folder / name}") < last


def test_what_a_killed_copy_left_half_written_is_removed() -> None:
    publish(FILES)
    folder = copied()
    (folder / "_SUCCESS").unlink()
    for name in (SHARD, "_EXPECTED"):
        temporary_path(folder / name).write_bytes(b"half")
    assert read(copied()) == COPIED


@pytest.mark.slow
def test_ctrl_c_ends_a_copy_and_the_next_one_goes_on(tmp_path: Path) -> None:
    source = write(FILES, to=tmp_path / "source")
    program = f"""
import itertools, time
from trainer.data import remote_dataset
from trainer.data.dataset_cache import local_dataset

chunks = remote_dataset.RemoteDataset.chunks

def slow(remote, name):
    if name != {SHARD!r}:
        yield from chunks(remote, name)
        return
    print("reads", flush=True)
    while True:
        time.sleep(0.01)
        yield b""

remote_dataset.RemoteDataset.chunks = slow
local_dataset({f"file://{source}"!r}, log=lambda line: None)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reads\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in error
    (folder,) = folders()
    assert not list(folder.rglob("*.tmp"))
    assert read(copied(f"file://{source}")) == COPIED


@pytest.mark.slow
def test_a_command_reads_an_address_as_it_reads_a_folder(command: Callable, data: Path) -> None:
    expected = command("inspect-input", "configs/train_sample.yaml", "--data", data)
    found = command("inspect-input", "configs/train_sample.yaml", "--data", f"file://{data}")
    assert (found.code, found.out) == (0, expected.out)
    assert "copying" in found.err
