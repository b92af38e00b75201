"""Index of a split's records, from the manifests alone: file, byte offset and lengths of each, grouped into blocks.

A block is a number of consecutive records. It is read in one piece, and is the unit that an epoch shuffles. Each record
has a number in its split, the *row*: its place in the order of `dataset.json` and of the manifests.
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


class RecordIndex(NamedTuple):
    """The records of a split, by row."""

    files: tuple[StoragePath, ...]
    file: np.ndarray  # [rows] index into `files`, rising
    offset_bytes: np.ndarray  # [rows] of the TFRecord frame
    length_bytes: np.ndarray  # [rows] of the TFRecord frame
    frames: np.ndarray
    tokens: np.ndarray
    utterance_id: pa.ChunkedArray
    audio_path: pa.ChunkedArray  # empty if the records hold mels
    duration_s: np.ndarray


class Blocks(NamedTuple):
    """Blocks [K], or runs of readable records within blocks, in the order of their records."""

    file: np.ndarray
    offset_bytes: np.ndarray
    first: np.ndarray  # row
    records: np.ndarray  # number of records
    size_bytes: np.ndarray


def read_record_index(dataset: Dataset, *, split: str) -> RecordIndex:
    """Read the manifests of a split.

    Raises:
        UserError: a manifest is absent, damaged, or does not belong to its shard.
    """
    root, shards = dataset.layout.root, dataset.info.shards_of(split)
    paths = () if dataset.info.contract.stores_mels else ("audio_path",)
    try:
        table = dataset.manifest(split, columns=("shard", "utterance_id", *NUMBERS, *paths))
    except (OSError, ValueError) as error:  # ValueError: Arrow's, for a damaged file
        raise UserError(f"{root}: a manifest cannot be read ({error}); run `make validate DATA={root}`") from error
    records = RecordIndex(
        files=tuple(dataset.layout.shard(shard.name) for shard in shards),
        file=np.repeat(np.arange(len(shards)), [shard.records for shard in shards]),
        utterance_id=table["utterance_id"],
        audio_path=table["audio_path"] if paths else pa.chunked_array([], pa.string()),
        **{name: table[name].to_numpy() for name in NUMBERS},
    )
    names = pa.array([shard.name for shard in shards], pa.string()).take(pa.array(records.file))
    if not table["shard"].equals(pa.chunked_array([names])) or not _is_gapless(records, shards):
        raise UserError(f"{root}: a manifest does not belong to its shard; run `make validate DATA={root}`")
    return records


def _is_gapless(records: RecordIndex, shards: list) -> bool:
    """True if the records of each shard follow one another from its first byte to its last."""
    ends = records.offset_bytes + records.length_bytes
    begins = np.concatenate([[0], ends[:-1]])
    begins[np.flatnonzero(np.diff(records.file, prepend=-1))] = 0
    last = np.flatnonzero(np.diff(records.file, append=len(shards)))
    sizes = np.array([shard.bytes for shard in shards], np.int64)
    return np.array_equal(begins[: len(ends)], records.offset_bytes) and np.array_equal(
        ends[last], sizes[records.file[last]]
    )


def cut_blocks(records: RecordIndex, *, chunk_bytes: int) -> Blocks:
    """Cut each shard into blocks of equal numbers of records.

    A block has at most MAX_BLOCK_RECORDS records and about 1/16 of a chunk's bytes; the last one of a shard may be
    shorter.
    """
    starts = []
    for begin, end in _shard_spans(records.file):
        mean_bytes = int(records.length_bytes[begin:end].sum()) // (end - begin)
        size = min(MAX_BLOCK_RECORDS, max(1, chunk_bytes // MIN_BLOCKS_PER_CHUNK // max(mean_bytes, 1)))
        starts.append(np.arange(begin, end, size))
    return _blocks_from(records, np.concatenate(starts) if starts else np.zeros(0, np.int64))


def readable_runs(blocks: Blocks, records: RecordIndex, *, left_out: Collection[int]) -> tuple[Blocks, np.ndarray]:
    """The runs of records that remain in the blocks without the rows `left_out`.

    Returns:
        The runs, and the first run of each block, [K + 1].
    """
    holes = np.array(sorted(left_out), np.int64)
    starts = np.unique(np.concatenate([blocks.first, holes, holes + 1]))
    starts = starts[starts < len(records.file)]
    runs = _blocks_from(records, starts)
    kept = ~np.isin(runs.first, holes)
    runs = Blocks(*(column[kept] for column in runs))
    return runs, np.searchsorted(runs.first, np.append(blocks.first, len(records.file)))


def _shard_spans(file: np.ndarray) -> list[tuple[int, int]]:
    """The first row of each shard, and the row after its last."""
    edges = np.flatnonzero(np.diff(file, prepend=-1, append=-1))
    return [(int(begin), int(end)) for begin, end in itertools.pairwise(edges)]


def _blocks_from(records: RecordIndex, starts: np.ndarray) -> Blocks:
    """The blocks that begin at the rows `starts`; each ends where the next begins."""
    ends = np.append(starts[1:], len(records.file))[: len(starts)]
    total_bytes = np.concatenate([[0], np.cumsum(records.length_bytes)])
    return Blocks(
        file=records.file[starts],
        offset_bytes=records.offset_bytes[starts],
        first=starts,
        records=ends - starts,
        size_bytes=total_bytes[ends] - total_bytes[starts],
    )
