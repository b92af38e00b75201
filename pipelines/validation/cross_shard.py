"""What must not stand twice: ids in the dataset, recordings and texts in both splits.

Of each shard a few packed arrays of hashes go to the groups, not an element per record; the hashes are of 128 bits, of
which the first decide into which group one goes.
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
from shared.layout import Layout, ShardName
from shared.tables import MANIFEST, read_table

KEY_BYTES = 16

# A group of so many hashes takes some 100 MB while it is compared.
HASHES_PER_GROUP = 2_000_000

# So many of the shards that hold the same are named.
MAX_NAMED = 4

ID, RECORDING, TEXT = "id", "recording", "text"

GroupKey = tuple[str, int]


class ShardHashes(NamedTuple):
    """Hashes of one kind that a shard brings into a group."""

    stem: str
    flagged: bool  # texts that the manifest itself says stand in the other split too
    packed: bytes  # KEY_BYTES each
    missing: bool = False  # the shard's manifest is damaged: nothing follows from what is not in this group


def count_groups(records: int) -> int:
    """Into how many groups the hashes of one kind are divided: their first byte decides."""
    return min(1 + records // HASHES_PER_GROUP, 256)


def shard_hashes(
    table: pa.Table | None, *, ids: bytes | None, stem: str, groups: int
) -> Iterator[tuple[GroupKey, ShardHashes]]:
    """Everything that one shard brings: hashes of its ids as they were read, or else as the manifest has them."""
    if ids is None and table is not None:
        yield from _divided(ID, _id_keys(table), stem=stem, groups=groups)
    elif ids is not None:
        yield from _divided(ID, np.frombuffer(ids, np.uint8).reshape(-1, KEY_BYTES), stem=stem, groups=groups)
    if table is None:
        yield from (((TEXT, number), ShardHashes(stem, False, b"", missing=True)) for number in range(groups))
        return
    leaks, texts = np.array(table["text_leaks"].to_pylist(), bool), _text_keys(table)
    yield from _divided(RECORDING, _recording_keys(table), stem=stem, groups=groups)
    yield from _divided(TEXT, texts[~leaks], stem=stem, groups=groups)
    yield from _divided(TEXT, texts[leaks], stem=stem, groups=groups, flagged=True)


def _divided(
    kind: str, packed: np.ndarray, *, stem: str, groups: int, flagged: bool = False
) -> Iterator[tuple[GroupKey, ShardHashes]]:
    """Hashes, [N, KEY_BYTES] uint8, by their groups."""
    group = packed[:, 0].astype(np.int64) * groups >> 8
    for number in np.unique(group).tolist():
        yield (kind, number), ShardHashes(stem, flagged, packed[group == number].tobytes())


def _id_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8 of the ids that a manifest names, as an inspection makes them from the records."""
    ids = table["utterance_id"].to_pylist()
    keys = b"".join(stable_hash(one, purpose="order").to_bytes(KEY_BYTES, "big") for one in ids)
    return np.frombuffer(keys, np.uint8).reshape(-1, KEY_BYTES)


def _recording_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8."""
    digests = [one[: 2 * KEY_BYTES].ljust(2 * KEY_BYTES, "0") for one in table["audio_sha256"].to_pylist()]
    try:
        packed = bytes.fromhex("".join(digests))
    except ValueError:  # an edited manifest
        packed = b"".join(hashlib.blake2b(one.encode(), digest_size=KEY_BYTES).digest() for one in digests)
    return np.frombuffer(packed, np.uint8).reshape(-1, KEY_BYTES)


def _text_keys(table: pa.Table) -> np.ndarray:
    """[N, KEY_BYTES] uint8."""
    texts = zip(table["original_text"].to_pylist(), table["utterance_id"].to_pylist(), strict=True)
    keys = np.zeros((len(table), 2), np.uint64)
    keys[:, 0] = [text_key(text, utterance_id=name) for text, name in texts]
    return keys.view(np.uint8)


def find_conflicts(grouped: tuple[GroupKey, Iterable[ShardHashes]], layout: Layout) -> Iterator[Finding]:
    """What stands where it must not, by the hashes of one group."""
    (kind, _), brought = grouped
    hashes = sorted(brought)
    rows = np.frombuffer(b"".join(one.packed for one in hashes), np.uint64).reshape(-1, 2)
    origin = np.repeat(np.arange(len(hashes)), [len(one.packed) // KEY_BYTES for one in hashes])
    order = np.lexsort((origin, rows[:, 1], rows[:, 0]))
    rows, origin = rows[order], origin[order]
    starts = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)][: len(rows)])
    sizes = np.diff(np.r_[starts, len(rows)])
    wrong = _stands_twice(sizes) if kind == ID else _stands_in_both(hashes, origin, starts, sizes, kind=kind)
    runs = np.repeat(np.stack([starts, starts + sizes], axis=1), sizes, axis=0)
    for stem, digests in _by_stem([one.stem for one in hashes], rows, origin, runs, wrong):
        yield from _findings(kind, digests, layout=layout, stem=stem)


def _stands_twice(sizes: np.ndarray) -> np.ndarray:
    """[N] bool, the second and later ones of equal hashes; `sizes` of the runs of equal ones."""
    first = np.zeros(int(sizes.sum()), bool)
    first[np.cumsum(sizes) - sizes] = True
    return ~first


def _stands_in_both(
    hashes: list[ShardHashes], origin: np.ndarray, starts: np.ndarray, sizes: np.ndarray, *, kind: str
) -> np.ndarray:
    """[N] bool, those in training that validation has too; of texts, those of which the manifest says otherwise."""
    held_out = np.array([ShardName.parse(one.stem).split == "validation" for one in hashes], bool)[origin]
    also = np.repeat(np.logical_or.reduceat(held_out, starts) if len(starts) else held_out, sizes)
    flagged = np.array([one.flagged for one in hashes], bool)[origin]
    if kind == RECORDING:
        return ~held_out & also
    is_whole = not any(one.missing for one in hashes)
    return ~held_out & ((also & ~flagged) | (flagged & ~also & is_whole))


def _by_stem(
    stems: list[str], rows: np.ndarray, origin: np.ndarray, runs: np.ndarray, wrong: np.ndarray
) -> Iterator[tuple[str, dict[bytes, list[str]]]]:
    """Of each shard with something wrong: the hashes, and which shards hold each; `runs` of equal ones, [N, 2]."""
    found: dict[str, dict[bytes, list[str]]] = {}
    last, holders = -1, list[str]()
    for place in np.flatnonzero(wrong).tolist():
        start, end = runs[place].tolist()
        if start != last:
            last, holders = start, sorted({stems[other] for other in np.unique(origin[start:end])})
        found.setdefault(stems[origin[place]], {})[rows[place].tobytes()] = holders
    yield from sorted(found.items())


def _findings(kind: str, digests: dict[bytes, list[str]], *, layout: Layout, stem: str) -> Iterator[Finding]:
    """What is wrong with each of the hashes that one shard brought; its manifest has their names."""
    findings = Findings(root=layout.root, stem=stem)
    path = layout.manifest(stem) if kind == TEXT else layout.shard(stem)
    check, expected = {
        ID: ("duplicate", "one record of an id"),
        RECORDING: ("leak", "a recording in one split only"),
        TEXT: ("text_leaks", "true where validation holds the text, else false"),
    }[kind]
    named = _named(kind, digests, layout=layout, stem=stem)
    for digest, holders in sorted(digests.items()):
        what = {ID: "its id", RECORDING: "its recording", TEXT: "its text"}[kind]
        more = f" and {len(holders) - MAX_NAMED} more" if len(holders) > MAX_NAMED else ""
        message = f"{what} stands {'twice ' * (kind == ID)}in {', '.join(holders[:MAX_NAMED])}{more}"
        if kind == TEXT:
            message += ", and text_leaks says otherwise"
        for index, name in named.get(digest, [(None, None)]):
            findings.add(path, check, message, index=index, utterance_id=name, expected=expected)
    yield from findings


def _named(
    kind: str, digests: dict[bytes, list[str]], *, layout: Layout, stem: str
) -> dict[bytes, list[tuple[int | None, str | None]]]:
    """Index and id of the rows that have one of these hashes; of texts, those whose `text_leaks` is wrong."""
    try:
        table = read_table(layout.manifest(stem), schema=MANIFEST)
    except (pa.ArrowException, OSError):
        return {}
    made = {ID: _id_keys, RECORDING: _recording_keys, TEXT: _text_keys}[kind](table)
    found: dict[bytes, list[tuple[int | None, str | None]]] = {}
    rows = zip(made, table["utterance_id"].to_pylist(), table["text_leaks"].to_pylist(), strict=True)
    for index, (row, name, leaks) in enumerate(rows):
        holders = digests.get(row.tobytes())
        if holders is not None and (kind != TEXT or leaks != _has_validation(holders)):
            found.setdefault(row.tobytes(), []).append((index, name))
    return found


def _has_validation(stems: Iterable[str]) -> bool:
    return any(ShardName.parse(stem).split == "validation" for stem in stems)
