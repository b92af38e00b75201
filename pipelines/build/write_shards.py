"""Last step of a build: write each shard's kept and filtered records, its tables and its report.

Records are copied as bytes. A published file that already holds exactly the expected records is not written again.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pydantic

from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.staging import FILE, INPUTS, STAGED, Staging
from preprocess.utterance import EXCLUDED_BY_CONFIG, FILTER_STAGE
from shared.dataset import Contract, ShardInfo, moment_sums
from shared.files import file_sha256, fsync_path, link_file, new_file, write_json
from shared.layout import Layout, ShardName
from shared.records import MEL_DTYPES, decode
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table, write_table
from shared.tfrecord import unframe

Row = dict[str, Any]


class ShardReport(pydantic.BaseModel):
    """Summary of a finished shard for the driver."""

    model_config = pydantic.ConfigDict(frozen=True)

    info: ShardInfo
    records_by_language: dict[str, int]
    failures_by_language: dict[str, int]  # rejections, but those that the config asks for (caps)
    failures_by_reason: dict[str, int]
    records_by_speaker: dict[str, int]
    token_ids: list[int]
    mel_sums: list[float]  # per band over all frames, [M]
    mel_squares: list[float]


def read_reports(shard_names: Iterable[str], *, staging: Staging) -> list[ShardReport]:
    """The reports of these shards, in the given order."""
    return [ShardReport.model_validate_json(staging.report_path(name).read_bytes()) for name in shard_names]


class WriteShard(beam.DoFn):
    """shard name -> shard name, after its final files and its report are in the staging folder."""

    def __init__(self, contract: Contract, *, data: StoragePath, staging: StoragePath):
        self._contract, self._data, self._staging = contract, Layout(data), Staging(staging)

    def process(self, shard_name: str) -> Iterator[str]:
        with translate_disk_errors(staging=self._staging.root):
            if not self._staging.report_path(shard_name).exists():
                write_shard(shard_name, contract=self._contract, data=self._data, staging=self._staging)
        yield shard_name


def write_shard(shard_name: str, *, contract: Contract, data: Layout, staging: Staging) -> ShardReport:
    """Divide the prepared records into kept and filtered ones, write both, and write the report last."""
    table = staging.read_rows(shard_name)
    results = read_table(staging.filter_results_path(shard_name)).to_pylist()
    rows = [row | result for row, result in zip(table.to_pylist(), results, strict=True)]
    kept = [row for row in rows if not row["reason"]]
    filtered = [row for row in rows if row["reason"]]
    statistics = ShardStatistics(contract)
    layout = staging.layout
    kept_sha256 = _write_records(
        kept, shard_name=shard_name, folder="shards", data=data, staging=staging, on_record=statistics.add
    )
    filtered_sha256 = _write_records(
        filtered, shard_name=shard_name, folder="withheld", data=data, staging=staging, on_record=None
    )
    rejected = _rejected(staging.failed_path(shard_name), filtered=filtered)
    write_table(layout.manifest(shard_name), _manifest(kept, shard_name=shard_name))
    write_table(layout.withheld_manifest(shard_name), _manifest(filtered, shard_name=shard_name))
    write_table(layout.rejected(shard_name), rejected)
    info = ShardInfo(
        name=shard_name,
        split=ShardName.parse(shard_name).split,
        inputs=table.schema.metadata[INPUTS].decode(),
        records=len(kept),
        bytes=sum(row["length_bytes"] for row in kept),
        sha256=kept_sha256,
        frames=sum(row["frames"] for row in kept),
        tokens=sum(row["tokens"] for row in kept),
        manifest_sha256=file_sha256(layout.manifest(shard_name)),
        rejected=len(rejected),
        rejected_sha256=file_sha256(layout.rejected(shard_name)),
        withheld=len(filtered),
        withheld_sha256=filtered_sha256,
        withheld_manifest_sha256=file_sha256(layout.withheld_manifest(shard_name)),
    )
    report = statistics.report(info, kept=kept, rejected=rejected)
    write_json(staging.report_path(shard_name), report, durable=False)
    return report


def _write_records(
    rows: list[Row],
    *,
    shard_name: str,
    folder: str,
    data: Layout,
    staging: Staging,
    on_record: Callable[[bytes], None] | None,
) -> str:
    """Write the rows' records into one file of `folder`, unless an existing file holds exactly these records.

    Each row's `offset_bytes` becomes that of the new file. `on_record` is called with each serialised record.

    Returns:
        The sha256 of the file.
    """
    target = {"shards": staging.layout.shard, "withheld": staging.layout.withheld}[folder](shard_name)
    complete = _complete_file(rows, folder=folder, shard_name=shard_name, data=data, staging=staging)
    digest = hashlib.sha256()
    with contextlib.ExitStack() as files:
        sources = _Sources(shard_name, data=data, staging=staging, files=files)
        sink = None if complete else files.enter_context(new_file(target))
        offset = 0
        for row in rows:
            framed = sources.read(row)
            digest.update(framed)
            if on_record is not None:
                on_record(unframe(framed))
            if sink is not None:
                sink.write(framed)
            row["offset_bytes"], offset = offset, offset + len(framed)
    if complete == STAGED:
        fsync_path(staging.records_path(shard_name))
        link_file(staging.records_path(shard_name), target)
    return digest.hexdigest()


def _complete_file(rows: list[Row], *, folder: str, shard_name: str, data: Layout, staging: Staging) -> str | None:
    """The file that holds exactly these records: STAGED, or the folder of the published one; None if there is none."""
    published = {"shards": data.shard, "withheld": data.withheld}[folder](shard_name)
    expected_bytes = sum(row["length_bytes"] for row in rows)
    for kind, path in ((STAGED, staging.records_path(shard_name)), (folder, published)):
        if all(row[FILE] == kind for row in rows) and _has_size(path, size_bytes=expected_bytes):
            return kind
    return None


def _has_size(path: StoragePath, *, size_bytes: int) -> bool:
    """Whether a file exists, can be opened, and has this size; an empty file is opened too."""
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END) == size_bytes
    except OSError:
        return False


class _Sources:
    """The files that hold a shard's prepared records, each opened once."""

    def __init__(self, shard_name: str, *, data: Layout, staging: Staging, files: contextlib.ExitStack):
        self._paths = {
            STAGED: staging.records_path(shard_name),
            "shards": data.shard(shard_name),
            "withheld": data.withheld(shard_name),
        }
        self._files, self._open = files, dict[str, BinaryIO]()

    def read(self, row: Row) -> bytes:
        kind = row[FILE]
        if kind not in self._open:
            self._open[kind] = self._files.enter_context(self._paths[kind].open("rb"))
        self._open[kind].seek(row["offset_bytes"])
        return self._open[kind].read(row["length_bytes"])


def _manifest(rows: list[Row], *, shard_name: str) -> pa.Table:
    position = {"split": ShardName.parse(shard_name).split, "shard": shard_name}
    return pa.Table.from_pylist([row | position | {"index": index} for index, row in enumerate(rows)], schema=MANIFEST)


def _rejected(failed: StoragePath, *, filtered: list[Row]) -> pa.Table:
    """Utterances that could not be prepared, followed by those that were filtered."""
    columns = ("utterance_id", "audio_path", "language", "reason", "message")
    rows = [{"stage": FILTER_STAGE, **{name: row[name] for name in columns}} for row in filtered]
    return pa.concat_tables([read_table(failed, schema=REJECTED), pa.Table.from_pylist(rows, schema=REJECTED)])


class ShardStatistics:
    """Mel sums and token ids over the kept records of one shard."""

    def __init__(self, contract: Contract):
        self._contract, n_mels = contract, contract.features.n_mels
        self._token_ids: set[int] = set()
        self._sums = np.zeros((2, n_mels), np.float64)  # of values, of squares

    def add(self, payload: bytes) -> None:
        """Add one serialised record."""
        features = decode(payload)
        (data,), (frames,) = features["mel"], features["frames"]
        assert isinstance(data, bytes)
        assert isinstance(frames, int)
        n_mels = self._contract.features.n_mels
        mel = np.frombuffer(data, MEL_DTYPES[self._contract.mel_dtype]).reshape(-1, n_mels).astype(np.float64)
        if self._contract.stores_mels:
            self._sums += np.stack([mel.sum(axis=0), np.einsum("fm,fm->m", mel, mel)])
        else:
            self._sums += moment_sums(mel, frames=frames)
        self._token_ids.update(token for token in features["tokens"] if isinstance(token, int))

    def report(self, info: ShardInfo, *, kept: list[Row], rejected: pa.Table) -> ShardReport:
        failures = [row for row in rejected.to_pylist() if row["reason"] not in EXCLUDED_BY_CONFIG]
        return ShardReport(
            info=info,
            records_by_language=_count(kept, "language"),
            failures_by_language=_count(failures, "language"),
            failures_by_reason=_count(failures, "reason"),
            records_by_speaker=_count(kept, "speaker"),
            token_ids=sorted(self._token_ids),
            mel_sums=self._sums[0].tolist(),
            mel_squares=self._sums[1].tolist(),
        )


def _count(rows: list[Row], column: str) -> dict[str, int]:
    return dict(sorted(collections.Counter(row[column] for row in rows).items()))
