"""Cross-shard checks: ids are unique; no recording occurs in two splits; `text_leaks` marks texts that do.

Each shard sends a few packed arrays of 128-bit hashes instead of an element per record. The first byte of a hash
selects the group in which it is compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.build.splits import text_key
from pipelines.validation.findings import Finding, Findings
from shared.hashing import stable_hash
from shared.layout import SPLITS, Layout, ShardName
from shared.messages import first_few
from shared.tables import MANIFEST, read_table

KEY_BYTES = 16

# Comparing a group of this size takes about 100 MB.
HASHES_PER_GROUP = 2_000_000

# Findings name at most this many of the shards that hold the same hash.
MAX_NAMED = 4

ID, RECORDING, TEXT = "id", "recording", "text"

GroupKey = tuple[str, int]


class ShardHashes(NamedTuple):
    """Hashes of one kind that one shard contributes to one group."""

    shard_name: str
    marked_as_leak: bool  # the manifest marks these texts as occurring in a later one of SPLITS too
    packed: bytes  # KEY_BYTES each
    manifest_missing: bool = False  # the manifest is damaged, so the group may lack hashes of this shard


def count_groups(records: int) -> int:
    """The number of groups into which the hashes of one kind are divided."""
    return min(1 + records // HASHES_PER_GROUP, 256)


def shard_hashes(
    table: pa.Table | None, *, ids: bytes | None, shard_name: str, groups: int
) -> Iterator[tuple[GroupKey, ShardHashes]]:
    """All hashes of one shard, by group.

    Args:
        table: the manifest; None if it is damaged.
        ids: hashes of the ids that were read from the records; None takes the ids of the manifest.
    """
    if ids is None and table is not None:
        yield from _by_group(ID, _id_keys(table), shard_name=shard_name, groups=groups)
    elif ids is not None:
        yield from _by_group(
            ID, np.frombuffer(ids, np.uint8).reshape(-1, KEY_BYTES), shard_name=shard_name, groups=groups
        )
    if table is None:
        yield from (
            ((TEXT, number), ShardHashes(shard_name, False, b"", manifest_missing=True)) for number in range(groups)
        )
        return
    leaks, texts = np.array(table["text_leaks"].to_pylist(), bool), _text_keys(table)
    yield from _by_group(RECORDING, _recording_keys(table), shard_name=shard_name, groups=groups)
    yield from _by_group(TEXT, texts[~leaks], shard_name=shard_name, groups=groups)
    yield from _by_group(TEXT, texts[leaks], shard_name=shard_name, groups=groups, marked_as_leak=True)


def _by_group(
    kind: str, packed: np.ndarray, *, shard_name: str, groups: int, marked_as_leak: bool = False
) -> Iterator[tuple[GroupKey, ShardHashes]]:
    """Divide hashes, [N, KEY_BYTES] uint8, into their groups."""
    group = packed[:, 0].astype(np.int64) * groups >> 8
    for number in np.unique(group).tolist():
        yield (kind, number), ShardHashes(shard_name, marked_as_leak, packed[group == number].tobytes())


def _id_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8: hashes of the ids in a manifest, equal to those of the ids in the records."""
    ids = table["utterance_id"].to_pylist()
    keys = b"".join(stable_hash(one, purpose="order").to_bytes(KEY_BYTES, "big") for one in ids)
    return np.frombuffer(keys, np.uint8).reshape(-1, KEY_BYTES)


def _recording_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8: the first bytes of the recordings' sha256."""
    digests = [one[: 2 * KEY_BYTES].ljust(2 * KEY_BYTES, "0") for one in table["audio_sha256"].to_pylist()]
    try:
        packed = bytes.fromhex("".join(digests))
    except ValueError:  # an edited manifest
        packed = b"".join(hashlib.blake2b(one.encode(), digest_size=KEY_BYTES).digest() for one in digests)
    return np.frombuffer(packed, np.uint8).reshape(-1, KEY_BYTES)


def _text_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8: hashes of the texts."""
    texts = zip(table["original_text"].to_pylist(), table["utterance_id"].to_pylist(), strict=True)
    keys = np.zeros((len(table), 2), np.uint64)
    keys[:, 0] = [text_key(text, utterance_id=name) for text, name in texts]
    return keys.view(np.uint8)


def find_conflicts(grouped: tuple[GroupKey, Iterable[ShardHashes]], layout: Layout) -> Iterator[Finding]:
    """Findings about hashes of one group that must not occur together."""
    (kind, _), arrays = grouped
    hashes = sorted(arrays)
    rows = np.frombuffer(b"".join(one.packed for one in hashes), np.uint64).reshape(-1, 2)
    origin = np.repeat(np.arange(len(hashes)), [len(one.packed) // KEY_BYTES for one in hashes])
    order = np.lexsort((origin, rows[:, 1], rows[:, 0]))
    rows, origin = rows[order], origin[order]
    starts = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)][: len(rows)])
    sizes = np.diff(np.r_[starts, len(rows)])
    wrong = _repeated(sizes) if kind == ID else _in_later_splits(hashes, origin, starts, sizes, kind=kind)
    runs = np.repeat(np.stack([starts, starts + sizes], axis=1), sizes, axis=0)
    for shard_name, digests in _by_shard([one.shard_name for one in hashes], rows, origin, runs, wrong):
        yield from _findings(kind, digests, layout=layout, shard_name=shard_name)


def _repeated(sizes: np.ndarray) -> np.ndarray:
    """[N] bool: True for all but the first of equal hashes; `sizes` are the lengths of the runs of equal hashes."""
    first = np.zeros(int(sizes.sum()), bool)
    first[np.cumsum(sizes) - sizes] = True
    return ~first


def _in_later_splits(
    hashes: list[ShardHashes], origin: np.ndarray, starts: np.ndarray, sizes: np.ndarray, *, kind: str
) -> np.ndarray:
    """[N] bool: rows whose hash a later split has too; for texts, those that the manifest marks wrongly."""
    split = np.array([_split_number(one.shard_name) for one in hashes], np.int8)[origin]
    last = np.repeat(np.maximum.reduceat(split, starts) if len(starts) else split, sizes)
    leaks = split < last
    if kind == RECORDING:
        return leaks
    marked_as_leak = np.array([one.marked_as_leak for one in hashes], bool)[origin]
    is_whole = not any(one.manifest_missing for one in hashes)
    return (leaks & ~marked_as_leak) | (marked_as_leak & ~leaks & is_whole)


def _by_shard(
    names: list[str], rows: np.ndarray, origin: np.ndarray, runs: np.ndarray, wrong: np.ndarray
) -> Iterator[tuple[str, dict[bytes, list[str]]]]:
    """For each shard with a conflict: its hashes, and the shards that hold each; `runs` of equal hashes, [N, 2]."""
    found: dict[str, dict[bytes, list[str]]] = {}
    last, holders = -1, list[str]()
    for place in np.flatnonzero(wrong).tolist():
        start, end = runs[place].tolist()
        if start != last:
            last, holders = start, sorted({names[other] for other in np.unique(origin[start:end])})
        found.setdefault(names[origin[place]], {})[rows[place].tobytes()] = holders
    yield from sorted(found.items())


def _findings(kind: str, digests: dict[bytes, list[str]], *, layout: Layout, shard_name: str) -> Iterator[Finding]:
    """Findings about the given hashes of one shard, with index and id from its manifest."""
    findings = Findings(root=layout.root, shard_name=shard_name)
    path = layout.manifest(shard_name) if kind == TEXT else layout.shard(shard_name)
    check, expected = {
        ID: ("duplicate", "one record per id"),
        RECORDING: ("leak", "a recording in one split only"),
        TEXT: ("text_leaks", "true where a later split, validation or test, holds the text, else false"),
    }[kind]
    rows_by_hash = _rows_with_hashes(kind, digests, layout=layout, shard_name=shard_name)
    for digest, holders in sorted(digests.items()):
        kind_text = {ID: "its id", RECORDING: "its recording", TEXT: "its text"}[kind]
        message = f"{kind_text} occurs {'twice ' * (kind == ID)}in {first_few(holders, most=MAX_NAMED)}"
        if kind == TEXT:
            message += ", but text_leaks states the opposite"
        for index, name in rows_by_hash.get(digest, [(None, None)]):
            findings.add(path, check, message, index=index, utterance_id=name, expected=expected)
    yield from findings


def _rows_with_hashes(
    kind: str, digests: dict[bytes, list[str]], *, layout: Layout, shard_name: str
) -> dict[bytes, list[tuple[int | None, str | None]]]:
    """Index and id of the rows with one of these hashes; for texts, only rows with a wrong `text_leaks`."""
    try:
        table = read_table(layout.manifest(shard_name), schema=MANIFEST)
    except (pa.ArrowException, OSError):
        return {}
    made = {ID: _id_keys, RECORDING: _recording_keys, TEXT: _text_keys}[kind](table)
    found: dict[bytes, list[tuple[int | None, str | None]]] = {}
    rows = zip(made, table["utterance_id"].to_pylist(), table["text_leaks"].to_pylist(), strict=True)
    for index, (row, name, leaks) in enumerate(rows):
        holders = digests.get(row.tobytes())
        if holders is not None and (kind != TEXT or leaks != _has_later_split(holders, than=shard_name)):
            found.setdefault(row.tobytes(), []).append((index, name))
    return found


def _has_later_split(names: Iterable[str], *, than: str) -> bool:
    return any(_split_number(shard_name) > _split_number(than) for shard_name in names)


def _split_number(shard_name: str) -> int:
    return SPLITS.index(ShardName.parse(shard_name).split)
