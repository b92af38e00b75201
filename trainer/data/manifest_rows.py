"""What the manifests say of each record of a split, in arrays: planned with, mixed by, never read from the shards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import ShardName

COLUMNS = ("shard", "utterance_id", "language", "speaker", "frames", "tokens", "duration_s")


class Column(NamedTuple):
    """A column of few different values: `names[codes]` are the values."""

    names: list[str]
    codes: np.ndarray  # [rows] int32

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> Column:
        """The values of a text column in sorted order, and each row's place among them."""
        names = sorted(values.unique().to_pylist())
        encoded = values.combine_chunks().dictionary_encode()
        rank = {name: place for place, name in enumerate(names)}
        places = np.array([rank[name] for name in encoded.dictionary.to_pylist()], np.int32)
        return cls(names, places[encoded.indices.to_numpy()] if names else np.zeros(0, np.int32))


class Rows(NamedTuple):
    """The records of one split in the order of its manifests; a row is a record's number in it."""

    frames: np.ndarray  # [rows] int64
    tokens: np.ndarray  # [rows] int64
    duration_s: np.ndarray  # [rows] float64
    language: Column
    source: Column
    speaker: Column
    utterance_id: pa.ChunkedArray


def read_rows(dataset: Dataset, *, split: str) -> Rows:
    """The rows of a split.

    Raises:
        UserError: a manifest is absent or damaged.
    """
    try:
        table = dataset.manifest(split, columns=COLUMNS)
    except (OSError, ValueError) as error:  # ValueError: Arrow's, of a damaged file
        raise UserError(f"{dataset.layout.root}: a manifest cannot be read ({error}); run `make validate`") from error
    shards = Column.of(table["shard"])
    sources = pa.array([ShardName.parse(name).source for name in shards.names], pa.string())
    return Rows(
        frames=table["frames"].to_numpy(),
        tokens=table["tokens"].to_numpy(),
        duration_s=table["duration_s"].to_numpy(),
        language=Column.of(table["language"]),
        source=Column.of(pa.chunked_array([sources.take(pa.array(shards.codes))])),
        speaker=Column.of(table["speaker"]),
        utterance_id=table["utterance_id"],
    )
