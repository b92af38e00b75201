"""Datasets at addresses: what is copied to this machine, what is taken from older copies, what is refused."""

from __future__ import annotations

import collections
import functools
import hashlib
import http.server
import itertools
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import fsspec
import pytest

from shared.errors import UserError
from trainer.data import dataset_cache
from trainer.data.dataset_cache import Copier, RemoteDataset, datasets_folder, local_dataset

URL = "memory://bucket/corpus"
SHARD = "shards/a-train-00000-of-00002.tfrecord"
OTHER_SHARD = "shards/a-train-00001-of-00002.tfrecord"
FOR_TRAINING = {
    "dataset.json": b"{}",
    "vocab.json": b"[]",
    "config.yaml": b"a: 1\n",
    SHARD: bytes(range(256)) * 40,
    OTHER_SHARD: b"",
    "manifest/a-train-00000-of-00002.parquet": b"PAR1",
    "manifest/a-train-00001-of-00002.parquet": b"PAR1",
}
FILES = FOR_TRAINING | {
    "withheld/a-train-00000-of-00002.tfrecord": b"withheld",
    "rejected/a-train-00000-of-00002.parquet": b"rejected",
    "report.html": b"<html>",
}


def checksums(files: Mapping[str, bytes]) -> bytes:
    """The content of `_SUCCESS`, as sha256sum writes it."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()).encode()


def publish(files: Mapping[str, bytes], **changed: bytes) -> None:
    """Store files at the address; `changed` ones differ from what `_SUCCESS` states."""
    store = fsspec.filesystem("memory")
    if store.exists("/bucket"):
        store.rm("/bucket", recursive=True)
    for name, content in {**files, "_SUCCESS": checksums(files), **changed}.items():
        store.pipe_file(f"/bucket/corpus/{name}", content)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def copied(url: str = URL) -> Path:
    return local_dataset(url, log=lambda line: None)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return datasets_folder()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> collections.Counter[str]:
    """The files that are read from the store, and how often."""
    found = collections.Counter[str]()
    chunks = RemoteDataset.chunks

    def counted(remote: RemoteDataset, name: str) -> Iterator[bytes]:
        found[name] += 1
        return chunks(remote, name)

    monkeypatch.setattr(RemoteDataset, "chunks", counted)
    return found


def test_a_folder_is_used_as_it_is(cache: Path) -> None:
    assert local_dataset("data/sample", log=pytest.fail) == Path("data/sample")
    assert not cache.exists()


def test_the_files_that_training_reads_are_copied_once(reads: collections.Counter[str]) -> None:
    publish(FILES)
    lines: list[str] = []
    folder = local_dataset(f"{URL}/", log=lines.append)
    assert content(folder) == FOR_TRAINING | {"_SUCCESS": checksums(FILES)}
    assert lines == [f"{URL}/: copying 7 files, 0.00 GB, to {folder}"]
    assert local_dataset(URL, log=pytest.fail) == folder
    assert reads == dict.fromkeys(FOR_TRAINING, 1)


def test_a_dataset_that_grew_brings_only_what_is_new(reads: collections.Counter[str]) -> None:
    publish(FILES)
    older = copied()
    reads.clear()
    added = {"shards/b-train-00000-of-00001.tfrecord": b"new", "dataset.json": b"{ }"}
    publish(FILES | added)
    newer = copied()
    assert content(newer) == FOR_TRAINING | added | {"_SUCCESS": checksums(FILES | added)}
    assert reads == dict.fromkeys(added, 1)
    assert (newer / SHARD).samefile(older / SHARD)
    assert content(older) == FOR_TRAINING | {"_SUCCESS": checksums(FILES)}


def test_a_copy_that_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch, reads: collections.Counter[str]) -> None:
    publish(FILES)
    chunks = RemoteDataset.chunks

    def lost(remote: RemoteDataset, name: str) -> Iterator[bytes]:
        if name == SHARD:
            raise ConnectionResetError(104, "Connection reset by peer")
        return chunks(remote, name)

    with monkeypatch.context() as patch:
        patch.setattr(RemoteDataset, "chunks", lost)
        patch.setattr(dataset_cache, "PARALLEL_FILES", 1)
        with pytest.raises(
            UserError, match=rf"^{URL}: .*Connection reset by peer; what was copied is kept, run again$"
        ):
            copied()
    (folder,) = (path for path in datasets_folder().iterdir() if path.is_dir())
    before = content(folder)
    assert before
    assert before.items() < FOR_TRAINING.items()
    reads.clear()
    assert content(copied()) == FOR_TRAINING | {"_SUCCESS": checksums(FILES)}
    assert reads == dict.fromkeys(FOR_TRAINING.keys() - before, 1)


def test_a_file_of_a_copy_that_is_damaged_is_copied_again(reads: collections.Counter[str]) -> None:
    publish(FILES)
    folder = copied()
    (folder / "_SUCCESS").unlink()
    (folder / SHARD).write_bytes(b"damaged")
    reads.clear()
    assert content(copied()) == FOR_TRAINING | {"_SUCCESS": checksums(FILES)}
    assert reads == {SHARD: 1}


def test_a_file_with_other_bytes_is_refused() -> None:
    publish(FILES, **{SHARD: bytes(256 * 40)})
    with pytest.raises(UserError, match=rf"^{URL}/{SHARD}: not the file that _SUCCESS states: sha256 .* expected .*"):
        copied()
    (folder,) = (path for path in datasets_folder().iterdir() if path.is_dir())
    assert "_SUCCESS" not in content(folder)
    assert SHARD not in content(folder)


def test_a_store_that_sends_more_than_it_stated_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(FILES)
    monkeypatch.setattr(RemoteDataset, "chunks", lambda remote, name: itertools.repeat(b"x"))
    copier = Copier(RemoteDataset.open(URL), folder=tmp_path, advance=lambda length: None, stopped=threading.Event())
    with pytest.raises(UserError, match="not the file that _SUCCESS states"):
        copier.copy(SHARD, "0" * 64, 1000)
    assert content(tmp_path / "shards") == {}


def test_names_that_leave_the_folder_are_not_copied() -> None:
    outside = {"../outside": b"1", "/tmp/outside": b"2", "shards/../../outside": b"3", "shards/other": b"4"}
    publish(FILES | outside)
    assert content(copied()).keys() == {*FOR_TRAINING, "_SUCCESS"}


def test_two_processes_copy_a_dataset_once(reads: collections.Counter[str]) -> None:
    publish(FILES)
    threads = [threading.Thread(target=copied) for _ in range(4)]  # flock keeps open files apart, also of one process
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(copied()) == FOR_TRAINING | {"_SUCCESS": checksums(FILES)}
    assert reads == dict.fromkeys(FOR_TRAINING, 1)


def test_a_full_disk_is_told_before_anything_is_copied(
    monkeypatch: pytest.MonkeyPatch, reads: collections.Counter[str]
) -> None:
    publish(FILES)
    usage = shutil.disk_usage(".")._replace(free=10_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(UserError, match=r"0\.0 GB are to be copied, and .* has 0\.0 GB free; delete older copies in"):
        copied()
    assert not reads


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("memory://bucket/absent", "no published dataset: it has no file _SUCCESS; expected the address of one"),
        ("s4://bucket/corpus", "Protocol not known: s4"),
        ("adl://bucket/corpus", "install"),
        ("http://127.0.0.1:1/corpus", "what was copied is kept, run again"),
    ],
)
def test_an_address_that_cannot_be_read_is_told_in_a_line(url: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        copied(url)
    assert str(caught.value).startswith(f"{url}: ")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def web_server(tmp_path: Path) -> Iterator[str]:
    """The address of a folder that a server sends, which knows no parts of files."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_web_server_is_read_without_parts_of_files(web_server: str, tmp_path: Path) -> None:
    large = FILES | {SHARD: bytes(9 << 20)}
    for name, one in {**large, "_SUCCESS": checksums(large)}.items():
        path = tmp_path / "served" / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one)
    folder = copied(f"{web_server}/corpus")
    assert content(folder) == FOR_TRAINING | {SHARD: bytes(9 << 20), "_SUCCESS": checksums(large)}


def test_a_command_reads_an_address_as_it_reads_a_folder(command: Callable, data: Path) -> None:
    expected = command("inspect-input", "configs/train_sample.yaml", "--data", data)
    found = command("inspect-input", "configs/train_sample.yaml", "--data", f"file://{data}")
    assert (found.code, found.out) == (0, expected.out)
    assert "copying" in found.err
