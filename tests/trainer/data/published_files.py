"""Published datasets of a few bytes, as `_SUCCESS` lists them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import fsspec

URL = "memory://bucket/corpus"
SHARD = "shards/a-train-00000-of-00002.tfrecord"
FOR_TRAINING = {
    "dataset.json": b"{}",
    "vocab.json": b"[]",
    "config.yaml": b"a: 1\n",
    SHARD: bytes(range(256)) * 40,
    "shards/a-train-00001-of-00002.tfrecord": b"",
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
    """Store files at `URL`; `changed` ones differ from what `_SUCCESS` states."""
    store = fsspec.filesystem("memory")
    if store.exists("/bucket"):
        store.rm("/bucket", recursive=True)
    for name, content in {**files, "_SUCCESS": checksums(files), **changed}.items():
        store.pipe_file(f"/bucket/corpus/{name}", content)


def write(files: Mapping[str, bytes], *, to: Path) -> Path:
    """Write files, and `_SUCCESS`, into a folder."""
    for name, content in {"_SUCCESS": checksums(files), **files}.items():
        path = to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return to


def read(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
