"""The columns of a source's prepared rows that the filter compares, as compact arrays: some 130 bytes a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.build.near_duplicates import Recordings, hash_words
from pipelines.build.splits import text_key
from pipelines.build.staging import Staging
from preprocess.checks import unknown_fraction
from shared.hashing import KEY_BITS, order_hash

NUMBERS = (
    "frames",
    "duration_s",
    "tokens",
    "unknown_tokens",
    "unread_numbers",
    "characters_per_second",
    "peak",
    "rms_db",
    "clipped_fraction",
    "dc_offset",
    "silence_fraction",
    "snr_db",
    "bandwidth_hz",
)
NAMES = ("utterance_id", "language", "speaker", "original_text", "audio_hash")


class Categories(NamedTuple):
    """A column of few different strings."""

    names: list[str]
    codes: np.ndarray  # [N] index into names

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Categories:
        encoded = column.dictionary_encode().unify_dictionaries()
        names = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
        codes = [chunk.indices.to_numpy() for chunk in encoded.chunks]
        return cls(names, np.concatenate([np.empty(0, np.int32), *codes]))

    def taken(self, rows: np.ndarray) -> Categories:
        return self._replace(codes=self.codes[rows])


class SourceRows(NamedTuple):
    """The prepared rows of one source, in the order of their keys; N rows."""

    shard_names: list[str]
    shard: np.ndarray  # [N] index into shard_names
    row: np.ndarray  # [N] index into the shard's table
    ids: pa.Array  # [N] strings
    keys: np.ndarray  # [N, 2] the halves of the hashes of the ids
    numbers: dict[str, np.ndarray]  # [N] each
    languages: Categories
    speakers: Categories
    texts: np.ndarray  # [N] keys of the spoken texts
    hashes: np.ndarray  # [N, 2] of the recordings
    contents: np.ndarray  # [N] the first 64 bits of the sha256 of the recordings; empty where nobody asked for them

    def utterance_id(self, row: int) -> str:
        return str(self.ids[row].as_py())

    def recordings(self, rows: np.ndarray) -> Recordings:
        """What the search for copies compares of these rows."""
        return Recordings(self.hashes[rows], self.numbers["duration_s"][rows].astype(np.float64))


def read_source_rows(shard_names: list[str], *, staging: Staging, with_contents: bool) -> SourceRows:
    """Read the columns that the filter needs, from all shards of one source.

    Args:
        with_contents: read `contents` too, which the search for copies needs.
    """
    columns = [*NUMBERS, *NAMES, *(["audio_sha256"] if with_contents else [])]
    tables = [staging.read_rows(name, columns=columns) for name in shard_names]
    lengths = [len(table) for table in tables]
    keys = np.concatenate([_keys(table["utterance_id"]) for table in tables])
    order = np.lexsort(keys.T[::-1])  # stable: rows of one id stay in the order of their shards
    numbers = {name: np.concatenate([table[name].to_numpy() for table in tables])[order] for name in NUMBERS}
    numbers["unknown_fraction"] = unknown_fraction(numbers)
    ids = pa.chunked_array([chunk for table in tables for chunk in table["utterance_id"].chunks], pa.string())
    categories = pa.concat_tables(table.select(["language", "speaker"]) for table in tables)
    return SourceRows(
        shard_names=shard_names,
        shard=np.repeat(np.arange(len(shard_names), dtype=np.int32), lengths)[order],
        row=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])[order],
        ids=ids.cast(pa.large_string()).take(pa.array(order)).combine_chunks(),
        keys=keys[order],
        numbers=numbers,
        languages=Categories.of(categories["language"]).taken(order),
        speakers=Categories.of(categories["speaker"]).taken(order),
        texts=np.concatenate([_texts(table) for table in tables])[order],
        hashes=np.concatenate([hash_words(table["audio_hash"].to_pylist()) for table in tables])[order],
        contents=np.concatenate([_contents(table["audio_sha256"]) for table in tables])[order]
        if with_contents
        else np.empty(0, np.uint64),
    )


def _keys(ids: pa.ChunkedArray) -> np.ndarray:
    joined = b"".join(order_hash(one).to_bytes(KEY_BITS // 8, "big") for one in ids.to_pylist())
    return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)


def _contents(sha256: pa.ChunkedArray) -> np.ndarray:
    return np.frombuffer(bytes.fromhex("".join(one[:16] for one in sha256.to_pylist())), ">u8").astype(np.uint64)


def _texts(table: pa.Table) -> np.ndarray:
    texts = zip(table["original_text"].to_pylist(), table["utterance_id"].to_pylist(), strict=True)
    return np.array([text_key(text, utterance_id=utterance_id) for text, utterance_id in texts], np.uint64)
