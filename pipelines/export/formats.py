"""The formats of an export: how one shard is written.

npy          SHARD/000042.npy: the mel [F, M] of record 42; SHARD.jsonl: the rows
webdataset   SHARD.tar: SHARD-000042.json, the row, and SHARD-000042.mel.npy (github.com/webdataset/webdataset)
parquet      SHARD.parquet: the rows, with a column `mel` of F lists of M numbers
             These three have the pitch and the energy [F] of datasets that store them: 000042.pitch_hz.npy,
             SHARD-000042.pitch_hz.npy, and a column `pitch_hz` of F numbers.
lhotse       SHARD.jsonl.gz: lhotse's cuts, each as long as its frames, with a supervision, and the row as `custom`;
             SHARD.features.tar: their mels, in lhotse's Shar format (github.com/lhotse-speech/lhotse)
wav          SHARD/000042.wav: the recording of record 42 as its mel was computed from it; SHARD.jsonl: the rows, with a
             column `audio`, the file relative to OUT; metadata.jsonl: the rows of all shards

A row has the columns of the manifest, but for the record's place in its shard, and `token_ids`.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import shutil
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.export.recordings import pcm_wav, waveform_of
from shared.dataset import Contract
from shared.features import FeatureSpec
from shared.files import new_file, write_bytes
from shared.records import FRAME_VALUES, Record
from shared.tables import MANIFEST

_PLACE = ("shard", "index", "offset_bytes", "length_bytes")
COLUMNS = [name for name in MANIFEST.names if name not in _PLACE]
ROWS_AT_ONCE = 64  # in memory, and in a row group
_CUTS, _FEATURES = ".jsonl.gz", ".features.tar"  # the suffixes of lhotse's files

Utterances = Iterable[tuple[dict[str, Any], Record]]  # a row of the manifest, and its record


class Format(NamedTuple):
    """A format: the suffix of the file that a shard becomes, and its writer."""

    suffix: str
    write: Callable[[Path, Utterances, Contract], None]
    second_suffix: str = ""  # of another file of the shard, which is complete before the first one is
    has_folder: bool = False  # beside the file, of the same name
    has_table: bool = False  # the rows of all shards in one file
    has_mels: bool = True
    has_frame_values: bool = False  # pitch and energy, where the dataset stores them


def _row(columns: dict[str, Any], record: Record) -> dict[str, Any]:
    return {**{name: columns[name] for name in COLUMNS}, "token_ids": list(record.tokens)}


def _frame_values(record: Record) -> dict[str, np.ndarray]:
    """The optional values of each frame, [F], by the name of their field."""
    values = {field.name: getattr(record, field.name) for field in FRAME_VALUES}
    return {name: array for name, array in values.items() if array is not None}


def _npy(mel: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, mel)
    return content.getvalue()


def _json(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def _new_folder(path: Path) -> Path:
    """The folder beside a shard's file, empty."""
    folder = path.with_suffix("")
    if folder.is_dir():  # of an export that was interrupted
        shutil.rmtree(folder)
    folder.mkdir()
    return folder


def _write_npy(path: Path, utterances: Utterances, _: Contract) -> None:
    folder = _new_folder(path)
    with new_file(path) as rows:
        for index, (columns, record) in enumerate(utterances):
            write_bytes(folder / f"{index:06d}.npy", _npy(record.mel))
            for name, values in _frame_values(record).items():
                write_bytes(folder / f"{index:06d}.{name}.npy", _npy(values))
            rows.write(_json(_row(columns, record)) + b"\n")


def _write_wav(path: Path, utterances: Utterances, contract: Contract) -> None:
    folder = _new_folder(path)
    with new_file(path) as rows:
        for index, (columns, record) in enumerate(utterances):
            name = f"{index:06d}.wav"
            samples = waveform_of(record, row=columns, contract=contract)
            write_bytes(folder / name, pcm_wav(samples, rate_hz=contract.features.sample_rate_hz))
            rows.write(_json({"audio": f"{folder.name}/{name}", **_row(columns, record)}) + b"\n")


def _write_webdataset(path: Path, utterances: Utterances, _: Contract) -> None:
    with new_file(path) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for index, (columns, record) in enumerate(utterances):
            key = f"{path.stem}-{index:06d}"
            _add(tar, f"{key}.json", _json(_row(columns, record)))
            for name, values in {"mel": record.mel, **_frame_values(record)}.items():
                _add(tar, f"{key}.{name}.npy", _npy(values))


def _write_lhotse(path: Path, utterances: Utterances, contract: Contract) -> None:
    mels_path = path.with_name(path.name.removesuffix(_CUTS) + _FEATURES)
    with (
        new_file(path) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as cuts,
        new_file(mels_path) as mels,
        tarfile.open(fileobj=mels, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for columns, record in utterances:
            name = str(PurePosixPath(record.utterance_id))  # as lhotse compares it with the names in the tar
            features = _lhotse_features(name, record=record, spec=contract.features)
            cut = _lhotse_cut(name, row=_row(columns, record), duration_s=features["duration"])
            cuts.write(_json(cut) + b"\n")
            _add(tar, f"{name}.npy", _npy(record.mel))
            _add(tar, f"{name}.json", _json(features))


def _lhotse_features(name: str, *, record: Record, spec: FeatureSpec) -> dict[str, Any]:
    """lhotse's Features of a mel that lies before them in a tar."""
    shift_s = spec.hop_samples / spec.sample_rate_hz
    return {
        "type": spec.name,
        "num_frames": record.frames,
        "num_features": spec.n_mels,
        "frame_shift": shift_s,
        "sampling_rate": spec.sample_rate_hz,
        "start": 0,
        "duration": record.frames * shift_s,
        "storage_type": "shar",
        "storage_path": "",
        "storage_key": "",
        "recording_id": name,
        "channels": 0,
    }


def _lhotse_cut(name: str, *, row: dict[str, Any], duration_s: float) -> dict[str, Any]:
    """lhotse's MonoCut of one utterance."""
    place = {"start": 0, "duration": duration_s, "channel": 0}
    said = {"text": row["text"], "language": row["language"], "speaker": row["speaker"]}
    supervision = {"id": name, "recording_id": name, **place, **said}
    return {"id": name, **place, "supervisions": [supervision], "custom": row, "type": "MonoCut"}


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def _write_parquet(path: Path, utterances: Utterances, _: Contract) -> None:
    with new_file(path) as file:
        _write_row_groups(file, iter(utterances))


def _write_row_groups(file: BinaryIO, utterances: Iterator[tuple[dict[str, Any], Record]]) -> None:
    first = next(utterances, None)
    if first is None:
        raise ValueError("no record")
    of_row = pa.schema([*(MANIFEST.field(name) for name in COLUMNS), ("token_ids", pa.list_(pa.int64()))])
    arrays = {name: _list_type(values) for name, values in {"mel": first[1].mel, **_frame_values(first[1])}.items()}
    with pq.ParquetWriter(file, pa.schema([*of_row, *arrays.items()]), compression="zstd") as writer:
        utterances = itertools.chain([first], utterances)
        while group := list(itertools.islice(utterances, ROWS_AT_ONCE)):
            rows = pa.Table.from_pylist([_row(*one) for one in group], schema=of_row)
            for name, type_ in arrays.items():
                rows = rows.append_column(name, _lists([getattr(one, name) for _, one in group], type_=type_))
            writer.write_table(rows)


def _list_type(values: np.ndarray) -> pa.DataType:
    """The type of a column whose cells are lists of frames, [F] or [F, M]."""
    number = pa.from_numpy_dtype(values.dtype)
    return pa.list_(number if values.ndim == 1 else pa.list_(number, values.shape[1]))


def _lists(cells: list[np.ndarray], *, type_: pa.DataType) -> pa.Array:
    ends, values = np.cumsum([0, *map(len, cells)]).astype(np.int32), pa.array(np.concatenate(cells).ravel())
    if pa.types.is_fixed_size_list(type_.value_type):
        values = pa.FixedSizeListArray.from_arrays(values, type_.value_type.list_size)
    return pa.ListArray.from_arrays(ends, values).cast(type_)


FORMATS = {
    "npy": Format(".jsonl", _write_npy, has_folder=True, has_frame_values=True),
    "webdataset": Format(".tar", _write_webdataset, has_frame_values=True),
    "parquet": Format(".parquet", _write_parquet, has_frame_values=True),
    "lhotse": Format(_CUTS, _write_lhotse, second_suffix=_FEATURES),
    "wav": Format(".jsonl", _write_wav, has_folder=True, has_table=True, has_mels=False),
}
