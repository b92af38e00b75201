"""Columns of a split's manifest as arrays, for planning: lengths, durations, language, source and speaker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import ShardName

COLUMNS = ("shard", "utterance_id", "language", "speaker", "frames", "tokens", "duration_s")


class Column(NamedTuple):
    """A dictionary-encoded text column: `names[codes]` are its values."""

    names: list[str]  # sorted
    codes: np.ndarray  # [rows] int32

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> Column:
        """Encode a text column."""
        names = sorted(values.unique().to_pylist())
        encoded = values.combine_chunks().dictionary_encode()
        rank = {name: number for number, name in enumerate(names)}
        ranks = np.array([rank[name] for name in encoded.dictionary.to_pylist()], np.int32)
        return cls(names, ranks[encoded.indices.to_numpy()] if names else np.zeros(0, np.int32))


class ManifestRows(NamedTuple):
    """The records of a split in the order of its manifests."""

    frames: np.ndarray  # [rows] int64
    tokens: np.ndarray  # [rows] int64
    duration_s: np.ndarray  # [rows] float64
    language: Column
    source: Column
    speaker: Column
    utterance_id: pa.ChunkedArray


def read_manifest_rows(dataset: Dataset, *, split: str) -> ManifestRows:
    """Read the manifests of a split.

    Raises:
        UserError: a manifest is absent or damaged.
    """
    try:
        table = dataset.manifest(split, columns=COLUMNS)
    except (OSError, ValueError) as error:  # ValueError: Arrow's, for a damaged file
        raise UserError(f"{dataset.layout.root}: a manifest cannot be read ({error}); run `make validate`") from error
    shards = Column.of(table["shard"])
    sources = pa.array([ShardName.parse(name).source for name in shards.names], pa.string())
    return ManifestRows(
        frames=table["frames"].to_numpy(),
        tokens=table["tokens"].to_numpy(),
        duration_s=table["duration_s"].to_numpy(),
        language=Column.of(table["language"]),
        source=Column.of(pa.chunked_array([sources.take(pa.array(shards.codes))])),
        speaker=Column.of(table["speaker"]),
        utterance_id=table["utterance_id"],
    )
