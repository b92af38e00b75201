"""Ways to damage a dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.execution.progress_counter import ProgressCounter
from pipelines.validation.findings import Finding
from pipelines.validation.shard_inspection import ShardInspection
from shared.dataset import Dataset
from shared.records import ALL_FIELDS, decode
from shared.tfrecord import frame_record, read_framed_records


def flip(path: Path, *, position: int, mask: int = 1) -> None:
    """Change bits of one byte in place."""
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ mask]))


def spans(data: Path, *, stem: str) -> list[tuple[int, int]]:
    """Start and end of each record of a shard, from the manifest."""
    table = pq.read_table(data / "manifest" / f"{stem}.parquet", columns=["offset_bytes", "length_bytes"])
    return [(row["offset_bytes"], row["offset_bytes"] + row["length_bytes"]) for row in table.to_pylist()]


def stems(data: Path) -> list[str]:
    return sorted(path.stem for path in (data / "shards").iterdir())


def payloads(data: Path, *, stem: str) -> list[bytes]:
    """The serialised examples of a shard."""
    with (data / "shards" / f"{stem}.tfrecord").open("rb") as file:
        return [found.payload for found in read_framed_records(file)]


def write_payloads(data: Path, *, stem: str, payloads: list[bytes]) -> None:
    """Replace a shard's records, with valid checksums everywhere, so that only the content is wrong."""
    (data / "shards" / f"{stem}.tfrecord").write_bytes(b"".join(map(frame_record, payloads)))
    sign(data)


def edit_record(payload: bytes, **values: list[Any]) -> bytes:
    """The example with other values of some features, encoded here and not by the code under test."""
    features = dict(decode(payload)) | values
    entries = [_entry(name, features[name]) for name in sorted(features)]
    return _field(1, b"".join(entries))


def _entry(name: str, values: list[Any]) -> bytes:
    integers = next(field.kind for field in ALL_FIELDS if field.name == name) != "bytes"
    body = b"".join(_varint(v & (1 << 64) - 1) for v in values) if integers else b""
    kind = _field(3, _field(1, body)) if integers else _field(1, b"".join(_field(1, v) for v in values))
    return _field(1, _field(1, name.encode()) + _field(2, kind))


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def edit_rows(path: Path, *, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the rows of a table in place."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def drop_column(path: Path, *, name: str) -> None:
    """Remove a column of a table in place."""
    pq.write_table(pq.read_table(path).drop_columns([name]), path)


def edit_info(data: Path, *, change: Callable[[dict[str, Any]], object]) -> None:
    """Change dataset.json in place."""
    path = data / "dataset.json"
    info = json.loads(path.read_text(encoding="utf-8"))
    change(info)
    path.write_text(json.dumps(info), encoding="utf-8")


FILES_OF_SUMS = {
    "sha256": "shards/{}.tfrecord",
    "manifest_sha256": "manifest/{}.parquet",
    "rejected_sha256": "rejected/{}.parquet",
    "withheld_sha256": "withheld/{}.tfrecord",
    "withheld_manifest_sha256": "withheld/{}.parquet",
}


def sign(data: Path) -> None:
    """Write the present sizes and sha256 of the files into dataset.json, and all sums into _SUCCESS."""

    def change(info: dict[str, Any]) -> None:
        for source in info["sources"].values():
            for shard in source["shards"]:
                for key, file in FILES_OF_SUMS.items():
                    shard[key] = _sha256(data / file.format(shard["name"]))
                shard["bytes"] = (data / "shards" / f"{shard['name']}.tfrecord").stat().st_size

    edit_info(data, change=change)
    seal(data)


def seal(data: Path) -> None:
    """Write the present sums of all files into _SUCCESS."""
    folders = ("shards", "manifest", "rejected", "withheld")
    files = [path for folder in folders for path in (data / folder).iterdir()]
    files += [data / name for name in ("dataset.json", "vocab.json", "config.yaml")]
    names = sorted(path.relative_to(data).as_posix() for path in files)
    (data / "_SUCCESS").write_text("".join(f"{_sha256(data / name)}  {name}\n" for name in names))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def inspect(data: Path, *, stem: str, progress: Path) -> list[Finding]:
    """The findings of one shard, without Beam."""
    dataset = Dataset.open(data)
    (shard,) = (one for one in dataset.info.shards if one.name == stem)
    counter = ProgressCounter(progress, name=stem)
    return ShardInspection(shard, layout=dataset.layout, info=dataset.info, counter=counter).verdict().findings
