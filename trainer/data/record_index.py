"""Where the records of a split stand: blocks of consecutive ones, from the manifests alone.

A block is what is read in one piece and what an epoch shuffles. A record has a number in the split, its *row*, in
the order of `dataset.json` and of the manifests.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shared.dataset import Dataset
from shared.errors import UserError
from shared.storage_path import StoragePath

MAX_BLOCK_RECORDS = 64
MIN_BLOCKS_PER_CHUNK = 16  # fewer would be little to shuffle
NUMBERS = ("offset_bytes", "length_bytes", "frames", "tokens", "duration_s")


class Records(NamedTuple):
    """The records of a split by row: `offset_bytes`, `length_bytes` [rows] with their frame, `frames`, `tokens`."""

    files: tuple[StoragePath, ...]
    file: np.ndarray  # [rows] number in `files`, rising
    offset_bytes: np.ndarray
    length_bytes: np.ndarray
    frames: np.ndarray
    tokens: np.ndarray
    utterance_id: pa.ChunkedArray
    audio_path: pa.ChunkedArray  # of no rows where the records hold mels
    duration_s: np.ndarray


class Blocks(NamedTuple):
    """Blocks [K] in the order of their records; also runs, the parts of blocks that can be read, [runs]."""

    file: np.ndarray
    offset_bytes: np.ndarray
    first: np.ndarray  # row
    records: np.ndarray  # how many
    size_bytes: np.ndarray


def read_records(dataset: Dataset, *, split: str) -> Records:
    """The records of a split, as the manifests tell of them.

    Raises:
        UserError: a manifest is absent, damaged, or not that of its shard.
    """
    root, shards = dataset.layout.root, dataset.info.shards_of(split)
    paths = () if dataset.info.contract.stores_mels else ("audio_path",)
    try:
        table = dataset.manifest(split, columns=("shard", "utterance_id", *NUMBERS, *paths))
    except (OSError, ValueError) as error:  # ValueError: Arrow's, of a damaged file
        raise UserError(f"{root}: a manifest cannot be read ({error}); run `make validate DATA={root}`") from error
    records = Records(
        files=tuple(dataset.layout.shard(shard.name) for shard in shards),
        file=np.repeat(np.arange(len(shards)), [shard.records for shard in shards]),
        utterance_id=table["utterance_id"],
        audio_path=table["audio_path"] if paths else pa.chunked_array([], pa.string()),
        **{name: table[name].to_numpy() for name in NUMBERS},
    )
    stems = pa.array([shard.name for shard in shards], pa.string()).take(pa.array(records.file))
    if not table["shard"].equals(pa.chunked_array([stems])) or not _is_gapless(records, shards):
        raise UserError(f"{root}: a manifest does not tell of its shard; run `make validate DATA={root}`")
    return records


def _is_gapless(records: Records, shards: list) -> bool:
    """Whether the records of each shard stand one behind another from its first byte to its last."""
    ends = records.offset_bytes + records.length_bytes
    begins = np.concatenate([[0], ends[:-1]])
    begins[np.flatnonzero(np.diff(records.file, prepend=-1))] = 0
    last = np.flatnonzero(np.diff(records.file, append=len(shards)))
    sizes = np.array([shard.bytes for shard in shards], np.int64)
    return np.array_equal(begins[: len(ends)], records.offset_bytes) and np.array_equal(
        ends[last], sizes[records.file[last]]
    )


def cut_blocks(records: Records, *, chunk_bytes: int) -> Blocks:
    """Each shard in blocks of equally many records, at most MAX_BLOCK_RECORDS and some 1/16 of a chunk; the last
    one of a shard may be shorter."""
    starts = []
    for begin, end in _spans(records.file):
        mean_bytes = int(records.length_bytes[begin:end].sum()) // (end - begin)
        size = min(MAX_BLOCK_RECORDS, max(1, chunk_bytes // MIN_BLOCKS_PER_CHUNK // max(mean_bytes, 1)))
        starts.append(np.arange(begin, end, size))
    return _between(records, np.concatenate(starts) if starts else np.zeros(0, np.int64))


def readable_runs(blocks: Blocks, records: Records, *, left_out: Collection[int]) -> tuple[Blocks, np.ndarray]:
    """The runs of records that are left when some rows are taken out, and the first run of each block [K + 1]."""
    holes = np.array(sorted(left_out), np.int64)
    starts = np.unique(np.concatenate([blocks.first, holes, holes + 1]))
    starts = starts[starts < len(records.file)]
    runs = _between(records, starts)
    kept = ~np.isin(runs.first, holes)
    runs = Blocks(*(column[kept] for column in runs))
    return runs, np.searchsorted(runs.first, np.append(blocks.first, len(records.file)))


def _spans(file: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(file, prepend=-1, append=-1))
    return [(int(begin), int(end)) for begin, end in itertools.pairwise(edges)]


def _between(records: Records, starts: np.ndarray) -> Blocks:
    """From each of the rising rows `starts` to the next one."""
    ends = np.append(starts[1:], len(records.file))[: len(starts)]
    total_bytes = np.concatenate([[0], np.cumsum(records.length_bytes)])
    return Blocks(
        file=records.file[starts],
        offset_bytes=records.offset_bytes[starts],
        first=starts,
        records=ends - starts,
        size_bytes=total_bytes[ends] - total_bytes[starts],
    )
