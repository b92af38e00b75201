"""Which rows of a dataset's tables are meant."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.tables.columns import load_table
from pipelines.tables.load import FILTERED, KEPT, load_utterances
from pipelines.trace.suggestions import suggest_ids
from shared.dataset import Dataset
from shared.errors import UserError
from shared.hashing import shard_of
from shared.layout import SHARD_NAME, ShardName

Row = dict[str, Any]

_PLACE = re.compile(
    rf"(?:(?P<root>.*/)?(?P<folder>shards|withheld)/)?(?P<stem>{SHARD_NAME.pattern})\.tfrecord(?P<kind>[:@])(?P<number>\d{{1,18}})"
)
_STATUS_OF_FOLDER = {"shards": KEPT, "withheld": FILTERED}


def find_rows(dataset: Dataset, what: str) -> list[Row]:
    """The rows of an utterance, of a place in a shard (`….tfrecord:17` or `….tfrecord@BYTE`), or of an audio file.

    Raises:
        UserError: there is none; it names those whose ids are closest.
    """
    place = _PLACE.fullmatch(what)
    if place is not None:
        return [_at_place(dataset, place)]
    rows = list(rows_with_id(dataset, what)) or list(_of_audio(dataset, what))
    if not rows:
        raise UserError(_why_unknown(dataset, what))
    return rows


def rows_with_id(dataset: Dataset, utterance_id: str) -> Iterator[Row]:
    """Its shard in each split follows from the id."""
    stems = [shard.name for shard in dataset.info.shards if _may_hold(ShardName.parse(shard.name), utterance_id)]
    rows = load_utterances(dataset, stems=stems)
    yield from rows.filter(pc.equal(rows["utterance_id"], utterance_id)).to_pylist()


def _may_hold(stem: ShardName, utterance_id: str) -> bool:
    source = utterance_id.partition("/")[0]
    return stem.source == source and stem.shard == shard_of(utterance_id, shards=stem.shards)


def _of_audio(dataset: Dataset, path: str) -> Iterator[Row]:
    """Whatever was made from that file, by absolute path."""
    wanted, name = _absolute(path), Path(path).name
    for shard in dataset.info.shards if name else []:
        files = (dataset.layout.manifest(shard.name), dataset.layout.rejected(shard.name))
        paths = [load_table(file, columns=("audio_path",))["audio_path"] for file in files]
        if not any(pc.any(pc.ends_with(column, name)).as_py() for column in paths):
            continue
        rows = load_utterances(dataset, stems=[shard.name])
        likely = rows.filter(pc.ends_with(rows["audio_path"], name)).to_pylist()
        yield from (row for row in likely if _absolute(row["audio_path"]) == wanted)


def _absolute(path: str) -> str:
    """Without dots, and with its links as they are: a corpus may be made of links."""
    return os.path.normpath(Path(path).absolute())


def _at_place(dataset: Dataset, place: re.Match[str]) -> Row:
    _refuse_other(dataset, root=place["root"])
    stem, folder, number = place["stem"], place["folder"] or "shards", int(place["number"])
    if stem not in {shard.name for shard in dataset.info.shards}:
        raise UserError(f"{dataset.layout.root}: has no shard {stem}; dataset.json lists those that it has")
    rows = load_utterances(dataset, stems=[stem])
    rows = rows.filter(pc.equal(rows["status"].cast(pa.string()), _STATUS_OF_FOLDER[folder]))
    file = f"{folder}/{stem}.tfrecord"
    index = number if place["kind"] == ":" else _index_at(rows, number)
    if not 0 <= index < len(rows):
        last = rows["offset_bytes"][-1].as_py() + rows["length_bytes"][-1].as_py() if len(rows) else 0
        raise UserError(f"{file}: holds {len(rows)} records (:0 to :{len(rows) - 1}) in {last} bytes, not {number}")
    return rows.slice(index, 1).to_pylist()[0]


def _refuse_other(dataset: Dataset, *, root: str | None) -> None:
    """Raises UserError where a place is one of another dataset."""
    own = dataset.layout.root
    if root is None:
        return
    is_own = os.path.realpath(root) == os.path.realpath(own) if isinstance(own, Path) else root == f"{own}/"
    if not is_own:
        raise UserError(f"{root}: not the dataset that was given, which is {own}; give one of the two")


def _index_at(rows: pa.Table, offset_bytes: int) -> int:
    """The record that a byte belongs to; len(rows) behind the last."""
    starts = rows["offset_bytes"].to_numpy(zero_copy_only=False)
    ends = starts + rows["length_bytes"].to_numpy(zero_copy_only=False)
    return int(np.searchsorted(ends, offset_bytes, side="right"))


def _why_unknown(dataset: Dataset, what: str) -> str:
    root = dataset.layout.root
    close = suggest_ids(_all_ids(dataset), what)
    if close:
        return f"{root}: no utterance {what!r}; the closest: {', '.join(close)}"
    wanted = "source/id, shards/….tfrecord:INDEX, shards/….tfrecord@BYTE or an audio file"
    return f"{root}: no utterance, and none made from a file {what!r}; wanted {wanted}"


def _all_ids(dataset: Dataset) -> pa.ChunkedArray:
    layout = dataset.layout
    tables = [
        load_table(file, columns=("utterance_id",))
        for shard in dataset.info.shards
        for file in (layout.manifest(shard.name), layout.rejected(shard.name))
    ]
    return pa.concat_tables(tables)["utterance_id"]
