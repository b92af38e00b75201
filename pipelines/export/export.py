"""Copies a dataset into a format of other software, shard by shard; an interrupted export continues.

OUT/export.json     the format, the contract and its fingerprint, and a digest of each shard that was exported
OUT/<shard>.…       the files of each shard, see `formats`
OUT/metadata.jsonl  of some formats: the rows of all shards
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pydantic

from pipelines.export.formats import FORMATS, Utterances
from shared.dataset import Contract, Dataset, MelStatistics, Sha256, ShardInfo
from shared.errors import UserError
from shared.files import bytes_sha256, new_file, remove_temporary_files, temporary_files_of, write_json
from shared.layout import SHARD_NAME, ShardName
from shared.records import NO_WAVEFORM

STATE, TABLE = "export.json", "metadata.jsonl"
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
    if FORMATS[format_].has_mels and not info.contract.stores_mels:
        raise UserError(f"{dataset.layout.root}: mel_dtype is none: there are no mels to export; build with float16")
    contract = _exported_contract(info.contract, format_=format_)
    state = ExportInfo(format=format_, fingerprint=contract.fingerprint, contract=contract, mel=info.mel)
    state.shards = _exported(out, state=state)  # from here on, the folder is known to be an export
    _check_sources(state.shards, dataset=dataset, out=out)
    listed = {shard.name: shard for shard in info.shards if shard.records}
    state.shards = {
        name: digest
        for name, digest in state.shards.items()
        if name in listed and _digest(listed[name]) == digest and _is_there(out / name, format_=format_)
    }
    _save(state, out=out)
    _remove_others(out, names=state.shards)
    missing = [shard for name, shard in listed.items() if name not in state.shards]
    for shard in with_progress(missing):
        _export_shard(dataset, shard, path=out / f"{shard.name}{FORMATS[format_].suffix}", format_=format_)
        state.shards[shard.name] = _digest(shard)
        _save(state, out=out)
    if FORMATS[format_].has_table:
        _write_table(out, names=listed, suffix=FORMATS[format_].suffix)
    return len(missing)


def _exported_contract(contract: Contract, *, format_: str) -> Contract:
    """The contract of what a format keeps: none has waveforms beside mels."""
    if FORMATS[format_].has_frame_values:
        return contract.model_copy(update={"waveform_dtype": NO_WAVEFORM})
    return contract.acoustic


def _write_table(out: Path, *, names: Iterable[str], suffix: str) -> None:
    """Write the rows of all shards into one file."""
    with new_file(out / TABLE) as table:
        for name in names:
            table.write((out / f"{name}{suffix}").read_bytes())


def _digest(shard: ShardInfo) -> Sha256:
    """Of the records and of the rows: a corpus that grows or moves changes rows alone."""
    return bytes_sha256(f"{shard.sha256} {shard.manifest_sha256}".encode())


def _is_there(stem: Path, *, format_: str) -> bool:
    chosen = FORMATS[format_]
    suffixes = filter(None, (chosen.suffix, chosen.second_suffix))
    has_files = all(stem.with_name(f"{stem.name}{suffix}").is_file() for suffix in suffixes)
    return has_files and stem.is_dir() == chosen.has_folder


def _exported(out: Path, *, state: ExportInfo) -> dict[str, Sha256]:
    """The shards that are there, from an earlier export of the same contract into the same format."""
    if "://" in str(out) or str(out).startswith(("gs:/", "s3:/", "hdfs:/")):
        raise UserError(f"{out}: exports are written to a folder of this machine")
    out.mkdir(parents=True, exist_ok=True)
    if not (out / STATE).is_file():
        if set(out.iterdir()) - set(temporary_files_of(out / STATE)):
            raise UserError(f"{out}: not empty, and no export; expected a new folder, or that of an earlier export")
        _save(state, out=out)
        return {}
    try:
        found = ExportInfo.model_validate(json.loads((out / STATE).read_bytes()))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{out / STATE}: not that of an export by this version; choose another folder") from error
    if (found.format, found.fingerprint) != (state.format, state.fingerprint):
        held = f"{found.format} of contract {found.fingerprint}"
        raise UserError(f"{out}: holds {held}; expected {state.format} of {state.fingerprint}; choose another folder")
    return found.shards


def _check_sources(exported: Iterable[str], *, dataset: Dataset, out: Path) -> None:
    """Refuse the folder of another dataset: its shards would be removed as those of sources that are gone."""
    there, own = {ShardName.parse(name).source for name in exported}, set(dataset.info.sources)
    if there and not there & own:
        sources = ", ".join(sorted(there)), ", ".join(sorted(own))
        raise UserError(
            f"{out}: holds the export of another dataset, with the sources {sources[0]}; {dataset.layout.root} has "
            f"{sources[1]}; choose another folder"
        )


def _save(state: ExportInfo, *, out: Path) -> None:
    write_json(out / STATE, state.model_copy(update={"shards": dict(sorted(state.shards.items()))}))


def _remove_others(out: Path, *, names: Container[str]) -> None:
    """Remove what an older dataset and killed exports left: shards that are not in `names`, temporary files."""
    remove_temporary_files(out)
    for path in out.iterdir():
        name = path.name.partition(".")[0]
        if SHARD_NAME.fullmatch(name) and name not in names:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _export_shard(dataset: Dataset, shard: ShardInfo, *, path: Path, format_: str) -> None:
    try:
        FORMATS[format_].write(path, _utterances(dataset, shard), dataset.info.contract)
    except (ValueError, KeyError, pa.ArrowException) as error:
        remedy = f"`make validate DATA={dataset.layout.root}` says more"
        raise UserError(f"{dataset.layout.shard(shard.name)}: {error}; {remedy}") from error
    except OSError as error:  # of a full disk, and of pyarrow, without a name
        where, reason = error.filename or path, error.strerror or str(error)
        raise UserError(
            f"{where}: {reason}; free space or repair this file, then the same command continues"
        ) from error


def _utterances(dataset: Dataset, shard: ShardInfo) -> Utterances:
    rows = dataset.manifest_of(shard).to_pylist()
    if len(rows) != shard.records:
        raise ValueError(f"{len(rows)} rows in the manifest; expected {shard.records}")
    for row, record in zip(rows, dataset.records_of(shard), strict=True):
        if row["utterance_id"] != record.utterance_id:
            raise ValueError(
                f"record {row['index']} is that of {record.utterance_id}, and not of {row['utterance_id']}"
            )
        yield row, record
