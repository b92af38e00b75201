"""Random damage to a dataset, as a disk, a copy or a colleague causes it, with a description and the damaged files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import yaml

from shared.tfrecord import frame_record
from tests.pipelines import damage

PAGE_BYTES = 4096


class Fault(NamedTuple):
    """One damage to a dataset."""

    description: str
    files: frozenset[str]  # relative to the dataset; each of them is damaged


Kind = Callable[[Path, random.Random], "Fault | None"]  # None: this choice damages nothing


def spoil(data: Path, *, seed: int, kind: Kind | None = None) -> Fault:
    """Damage a dataset in one way, of the given kind or of a random one; the same arguments give the same damage."""
    chance = random.Random(seed)
    chosen = kind or chance.choice(KINDS)
    while (fault := chosen(data, chance)) is None:
        chosen = kind or chance.choice(KINDS)
    return fault


def _files(data: Path, *patterns: str) -> list[Path]:
    """Files that are not empty, in the order of their names."""
    found = [path for pattern in patterns for path in data.glob(pattern) if path.is_file() and path.stat().st_size]
    return sorted(found)


def _of(data: Path, description: str, *paths: Path) -> Fault:
    return Fault(description, frozenset(path.relative_to(data).as_posix() for path in paths))


EVERYTHING = (
    "shards/*",
    "manifest/*",
    "rejected/*",
    "withheld/*",
    "vocab.json",
    "config.yaml",
    "dataset.json",
    "_SUCCESS",
)
SHARD_FILES = EVERYTHING[:4]


def flip_a_bit(data: Path, chance: random.Random) -> Fault:
    path = chance.choice(_files(data, *EVERYTHING))
    position, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
    damage.flip(path, position=position, mask=1 << bit)
    return _of(data, f"bit {bit} of byte {position} flipped", path)


def flip_a_bit_of_a_record(data: Path, chance: random.Random) -> Fault:
    path = chance.choice(_files(data, "shards/*"))
    position = chance.randrange(path.stat().st_size)
    damage.flip(path, position=position, mask=1 << chance.randrange(8))
    return _of(data, f"a bit of byte {position} flipped", path)


def truncate(data: Path, chance: random.Random) -> Fault:
    path = chance.choice(_files(data, *EVERYTHING[:-1]))
    size = chance.randrange(path.stat().st_size)
    path.write_bytes(path.read_bytes()[:size])
    return _of(data, f"cut off at byte {size}", path)


def zero_a_page(data: Path, chance: random.Random) -> Fault | None:
    path = chance.choice(_files(data, *EVERYTHING))
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content)) // PAGE_BYTES * PAGE_BYTES
    page = content[start : start + PAGE_BYTES]
    content[start : start + PAGE_BYTES] = bytes(len(page))
    path.write_bytes(content)
    return _of(data, f"the page at byte {start} zeroed", path) if any(page) else None


def swap_two_shards(data: Path, chance: random.Random) -> Fault | None:
    folder = chance.choice(["shards/*", "manifest/*", "rejected/*"])
    one, other = chance.sample(_files(data, folder), 2)
    contents = one.read_bytes(), other.read_bytes()
    other.write_bytes(contents[0])
    one.write_bytes(contents[1])
    return None if contents[0] == contents[1] else _of(data, "two files swapped", one, other)


def _rewrite_records(data: Path, chance: random.Random, change: Callable[[list[bytes]], object]) -> Path:
    """Change the records of a shard; the new records have valid checksums."""
    stem = chance.choice([stem for stem in damage.stems(data) if len(damage.payloads(data, stem=stem)) > 1])
    payloads = damage.payloads(data, stem=stem)
    change(payloads)
    path = data / "shards" / f"{stem}.tfrecord"
    path.write_bytes(b"".join(map(frame_record, payloads)))
    return path


def delete_a_record(data: Path, chance: random.Random) -> Fault:
    path = _rewrite_records(data, chance, lambda records: records.pop(chance.randrange(len(records))))
    return _of(data, "a record deleted", path)


def duplicate_a_record(data: Path, chance: random.Random) -> Fault:
    def change(records: list[bytes]) -> None:
        records.insert(chance.randrange(len(records) + 1), chance.choice(records))

    return _of(data, "a record duplicated", _rewrite_records(data, chance, change))


def exchange_two_records(data: Path, chance: random.Random) -> Fault:
    def change(records: list[bytes]) -> None:
        one, other = chance.sample(range(len(records)), 2)
        records[one], records[other] = records[other], records[one]

    return _of(data, "two records exchanged", _rewrite_records(data, chance, change))


def edit_a_row(data: Path, chance: random.Random) -> Fault | None:
    path = chance.choice(_files(data, "manifest/*", "rejected/*", "withheld/*.parquet"))
    table = pq.read_table(path)
    if not len(table):
        return None
    row, column = chance.randrange(len(table)), chance.choice(table.schema.names)
    damage.edit_rows(path, change=lambda rows: rows[row].update({column: altered(rows[row][column])}))
    return _of(data, f"{column} of row {row} edited", path)


def delete_or_add_a_row(data: Path, chance: random.Random) -> Fault | None:
    path = chance.choice(_files(data, "manifest/*", "rejected/*", "withheld/*.parquet"))
    if not len(pq.read_table(path)):
        return None
    if chance.random() < 0.5:
        damage.edit_rows(path, change=lambda rows: rows.pop(chance.randrange(len(rows))))
        return _of(data, "a row deleted", path)
    damage.edit_rows(path, change=lambda rows: rows.append(chance.choice(rows)))
    return _of(data, "a row added", path)


def edit_dataset_json(data: Path, chance: random.Random) -> Fault:
    path = data / "dataset.json"
    info = json.loads(path.read_text(encoding="utf-8"))
    place = chance.choice(leaves(info))
    edit(info, place)
    path.write_text(json.dumps(info, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return _of(data, f"{'.'.join(map(str, place))} edited", path)


def edit_config(data: Path, chance: random.Random) -> Fault:
    path = data / "config.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config["max_rejected_fraction"] = chance.random()
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return _of(data, "max_rejected_fraction edited", path)


def edit_vocabulary(data: Path, chance: random.Random) -> Fault:
    path = data / "vocab.json"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    del lines[chance.randrange(4, len(lines) - 2)]
    path.write_text("".join(lines), encoding="utf-8")
    return _of(data, "a piece deleted", path)


def remove_a_file(data: Path, chance: random.Random) -> Fault:
    path = chance.choice(sorted(path for pattern in EVERYTHING for path in data.glob(pattern)))
    path.unlink()
    return _of(data, "removed", path)


def add_a_file(data: Path, chance: random.Random) -> Fault:
    path = chance.choice(_files(data, *SHARD_FILES))
    name = chance.choice(["note.txt", f"{path.name}.tmp", "copy-train-00000-of-00001.tfrecord"])
    other = path.with_name(name)
    other.write_bytes(path.read_bytes())
    return _of(data, "added", other)


KINDS: tuple[Kind, ...] = (
    flip_a_bit,
    flip_a_bit_of_a_record,
    truncate,
    zero_a_page,
    swap_two_shards,
    delete_a_record,
    duplicate_a_record,
    exchange_two_records,
    edit_a_row,
    delete_or_add_a_row,
    edit_dataset_json,
    edit_config,
    edit_vocabulary,
    remove_a_file,
    add_a_file,
)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every value in a document that is neither a dict nor a list."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in leaves(inner, (*path, index))]
    return [path]


def edit(document: Any, place: tuple[str | int, ...]) -> None:
    """Replace the value at this path by another one."""
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = altered(document[place[-1]])


def altered(value: Any) -> Any:
    """Another value of the same type."""
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return ("1" if value[:1] == "0" else "0") + value[1:]
    return value + 1
