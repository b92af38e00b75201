"""Copies a dataset into a format of other software, shard by shard; an interrupted export continues.

OUT/export.json     the format, the contract and its fingerprint, and the sha256 of each shard that was exported
OUT/<shard>.…       one file per shard, see `formats`
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import pydantic

from pipelines.export.formats import FORMATS, Utterances
from shared.dataset import Contract, Dataset, MelStatistics, Sha256, ShardInfo
from shared.errors import UserError
from shared.files import remove_temporary_files, write_json
from shared.layout import SHARD_NAME

STATE = "export.json"
ShardKey = Annotated[str, pydantic.Field(pattern=f"^(?:{SHARD_NAME.pattern})$")]  # it becomes the name of a file


class ExportInfo(pydantic.BaseModel):
    """The content of `export.json`."""

    format: str
    fingerprint: str
    contract: Contract
    mel: MelStatistics
    shards: dict[ShardKey, Sha256] = {}


def export_dataset(
    dataset: Dataset,
    *,
    out: Path,
    format_: str,
    with_progress: Callable[[list[ShardInfo]], Iterable[ShardInfo]] = iter,
) -> int:
    """Export all shards that the folder does not have yet; return how many these were.

    Files of shards that the dataset no longer has are removed.

    Raises:
        UserError: the format is unknown, the dataset stores no mels, the folder holds something else, or a record is
            damaged.
    """
    if format_ not in FORMATS:
        raise UserError(f"unknown format {format_!r}; expected one of {', '.join(FORMATS)}")
    info = dataset.info
    if not info.contract.stores_mels:
        raise UserError(f"{dataset.layout.root}: mel_dtype is none: there are no mels to export; build with float16")
    state = ExportInfo(format=format_, fingerprint=info.fingerprint, contract=info.contract, mel=info.mel)
    state.shards = _exported(out, state=state)
    listed = {shard.name: shard for shard in info.shards if shard.records}
    for name in [name for name, sha256 in state.shards.items() if name not in listed or listed[name].sha256 != sha256]:
        del state.shards[name]
        _save(state, out=out)
        _remove(out / name, suffix=FORMATS[format_].suffix)
    paths = {name: out / f"{name}{FORMATS[format_].suffix}" for name in listed}
    missing = [shard for name, shard in listed.items() if name not in state.shards or not paths[name].is_file()]
    for shard in with_progress(missing):
        _export_shard(dataset, shard, path=paths[shard.name], format_=format_)
        state.shards[shard.name] = shard.sha256
        _save(state, out=out)
    return len(missing)


def _exported(out: Path, *, state: ExportInfo) -> dict[str, Sha256]:
    """The shards that are there, from an earlier export of the same contract into the same format."""
    out.mkdir(parents=True, exist_ok=True)
    remove_temporary_files(out)  # of an export that was killed
    if not (out / STATE).is_file():
        if any(out.iterdir()):
            raise UserError(f"{out}: not empty, and no export; expected a new folder, or that of an earlier export")
        _save(state, out=out)
        return {}
    try:
        found = ExportInfo.model_validate(json.loads((out / STATE).read_bytes()))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{out / STATE}: damaged; delete the folder, and export again") from error
    if (found.format, found.fingerprint) != (state.format, state.fingerprint):
        held = f"{found.format} of contract {found.fingerprint}"
        raise UserError(f"{out}: holds {held}; expected {state.format} of {state.fingerprint}; choose another folder")
    return found.shards


def _save(state: ExportInfo, *, out: Path) -> None:
    write_json(out / STATE, state.model_copy(update={"shards": dict(sorted(state.shards.items()))}))


def _remove(stem: Path, *, suffix: str) -> None:
    stem.with_name(f"{stem.name}{suffix}").unlink(missing_ok=True)
    if stem.is_dir():
        shutil.rmtree(stem)


def _export_shard(dataset: Dataset, shard: ShardInfo, *, path: Path, format_: str) -> None:
    try:
        FORMATS[format_].write(path, _utterances(dataset, shard))
    except ValueError as error:
        remedy = f"`make validate DATA={dataset.layout.root}` says more"
        raise UserError(f"{dataset.layout.shard(shard.name)}: {error}; {remedy}") from error


def _utterances(dataset: Dataset, shard: ShardInfo) -> Utterances:
    rows = dataset.manifest_of(shard).to_pylist()
    for row, record in zip(rows, dataset.records_of(shard), strict=True):
        if row["utterance_id"] != record.utterance_id:
            raise ValueError(
                f"record {row['index']} is that of {record.utterance_id}, and not of {row['utterance_id']}"
            )
        yield row, record
