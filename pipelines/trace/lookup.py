"""Find the table rows of an utterance by its id, by a record of a shard, or by an audio file."""

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
from preprocess.parts import containing_file
from shared.dataset import Dataset
from shared.errors import UserError
from shared.hashing import shard_of
from shared.layout import SHARD_NAME, ShardName

Row = dict[str, Any]

_RECORD = re.compile(
    rf"(?:(?P<root>.*/)?(?P<folder>shards|withheld)/)?(?P<stem>{SHARD_NAME.pattern})\.tfrecord(?P<kind>[:@])(?P<number>\d{{1,18}})"
)
_STATUS_OF_FOLDER = {"shards": KEPT, "withheld": FILTERED}


def find_rows(dataset: Dataset, target: str) -> list[Row]:
    """Find the rows of an id, of a record (`….tfrecord:INDEX` or `….tfrecord@BYTE`), or of an audio file.

    Raises:
        UserError: nothing matches; the message suggests similar ids.
    """
    match = _RECORD.fullmatch(target)
    if match is not None:
        return [_row_of_record(dataset, match)]
    rows = list(rows_with_id(dataset, target)) or list(rows_of_audio(dataset, target))
    if not rows:
        raise UserError(_not_found(dataset, target))
    return rows


def rows_with_id(dataset: Dataset, utterance_id: str) -> Iterator[Row]:
    """The rows with an id; the id determines its shard in each split, so the other shards are not read."""
    stems = [shard.name for shard in dataset.info.shards if _may_hold(ShardName.parse(shard.name), utterance_id)]
    rows = load_utterances(dataset, shard_names=stems)
    yield from rows.filter(pc.equal(rows["utterance_id"], utterance_id)).to_pylist()


def _may_hold(stem: ShardName, utterance_id: str) -> bool:
    source = utterance_id.partition("/")[0]
    return stem.source == source and stem.shard == shard_of(utterance_id, shards=stem.shards)


def rows_of_audio(dataset: Dataset, path: str) -> Iterator[Row]:
    """The rows of everything that was made from an audio file or a part of it, by its absolute path."""
    expected, name = _absolute(path), Path(path).name
    for shard in dataset.info.shards if name else []:
        files = (dataset.layout.manifest(shard.name), dataset.layout.rejected(shard.name))
        paths = [load_table(file, columns=("audio_path",))["audio_path"] for file in files]
        if not any(pc.any(pc.match_substring(column, name)).as_py() for column in paths):
            continue
        rows = load_utterances(dataset, shard_names=[shard.name])
        likely = rows.filter(pc.match_substring(rows["audio_path"], name)).to_pylist()
        for row in likely:
            if expected in (_absolute(row["audio_path"]), _absolute(containing_file(row["audio_path"]))):
                yield row


def _absolute(path: str) -> str:
    """The absolute path without `..`; links are not resolved, since a corpus may consist of links."""
    return os.path.normpath(Path(path).absolute())


def _row_of_record(dataset: Dataset, match: re.Match[str]) -> Row:
    _check_root(dataset, root=match["root"])
    stem, folder, number = match["stem"], match["folder"] or "shards", int(match["number"])
    if stem not in {shard.name for shard in dataset.info.shards}:
        raise UserError(f"{dataset.layout.root}: there is no shard {stem}; expected a shard of dataset.json")
    rows = load_utterances(dataset, shard_names=[stem])
    rows = rows.filter(pc.equal(rows["status"].cast(pa.string()), _STATUS_OF_FOLDER[folder]))
    file = f"{folder}/{stem}.tfrecord"
    index = number if match["kind"] == ":" else _index_at(rows, number)
    if not 0 <= index < len(rows):
        last = rows["offset_bytes"][-1].as_py() + rows["length_bytes"][-1].as_py() if len(rows) else 0
        raise UserError(f"{file}: there are {len(rows)} records (:0 to :{len(rows) - 1}) in {last} bytes, not {number}")
    return rows.slice(index, 1).to_pylist()[0]


def _check_root(dataset: Dataset, *, root: str | None) -> None:
    """Raise UserError if the record is in another dataset than `--data`."""
    own = dataset.layout.root
    if root is None:
        return
    is_own = os.path.realpath(root) == os.path.realpath(own) if isinstance(own, Path) else root == f"{own}/"
    if not is_own:
        raise UserError(f"{root}: not the dataset of --data, which is {own}; name the same dataset in both")


def _index_at(rows: pa.Table, offset_bytes: int) -> int:
    """The index of the record that holds a byte; len(rows) after the last record."""
    starts = rows["offset_bytes"].to_numpy(zero_copy_only=False)
    ends = starts + rows["length_bytes"].to_numpy(zero_copy_only=False)
    return int(np.searchsorted(ends, offset_bytes, side="right"))


def _not_found(dataset: Dataset, target: str) -> str:
    root = dataset.layout.root
    close = suggest_ids(_all_ids(dataset), target)
    if close:
        return f"{root}: no utterance {target!r}; did you mean {', '.join(close)}?"
    forms = "source/id, shards/….tfrecord:INDEX, shards/….tfrecord@BYTE or an audio file"
    return f"{root}: no utterance with the id or the audio file {target!r}; expected {forms}"


def _all_ids(dataset: Dataset) -> pa.ChunkedArray:
    layout = dataset.layout
    tables = [
        load_table(file, columns=("utterance_id",))
        for shard in dataset.info.shards
        for file in (layout.manifest(shard.name), layout.rejected(shard.name))
    ]
    return pa.concat_tables(tables)["utterance_id"]
