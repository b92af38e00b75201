"""The last step of a build: the verdicts divide each shard's measured records into kept and withheld.

Records are copied as the bytes that they are. A published shard that holds just what it should is left alone.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pydantic

from pipelines.build.prepare_shards import disk_message
from pipelines.build.staging import FILE, INPUTS, Staging
from preprocess.utterance import EXCLUDED_BY_CONFIG, FILTER_STAGE
from shared.dataset import Contract, ShardInfo, moment_sums
from shared.errors import UserError
from shared.files import file_sha256, fsync_path, link_file, new_file, write_json
from shared.layout import Layout, ShardName
from shared.records import MEL_DTYPES, decode
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table, write_table
from shared.tfrecord import unframe

Row = dict[str, Any]


class ShardReport(pydantic.BaseModel):
    """What the driver needs to know of a finished shard."""

    model_config = pydantic.ConfigDict(frozen=True)

    info: ShardInfo
    records_by_language: dict[str, int]
    faults_by_language: dict[str, int]
    faults_by_reason: dict[str, int]
    records_by_speaker: dict[str, int]
    token_ids: list[int]
    mel_sums: list[float]  # per band over all frames, [M]
    mel_squares: list[float]


class SettleShard(beam.DoFn):
    """stem -> stem, once its final files and its report are in the staging folder."""

    def __init__(self, contract: Contract, *, data: StoragePath, staging: StoragePath):
        self._contract, self._data, self._staging = contract, Layout(data), Staging(staging)

    def process(self, stem: str) -> Iterator[str]:
        try:
            if not self._staging.report(stem).exists():
                settle_shard(stem, contract=self._contract, data=self._data, staging=self._staging)
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error
        yield stem


def settle_shard(stem: str, *, contract: Contract, data: Layout, staging: Staging) -> ShardReport:
    """Divide, write what is not published already, report."""
    table = staging.read_rows(stem)
    verdicts = read_table(staging.verdicts(stem)).to_pylist()
    rows = [row | verdict for row, verdict in zip(table.to_pylist(), verdicts, strict=True)]
    kept = [row for row in rows if not row["reason"]]
    withheld = [row for row in rows if row["reason"]]
    summary = Summary(contract)
    layout = staging.layout
    shard = _write_records(kept, stem=stem, name="shards", data=data, staging=staging, see=summary.add)
    aside = _write_records(withheld, stem=stem, name="withheld", data=data, staging=staging, see=None)
    rejected = _rejected(staging.refused(stem), withheld=withheld)
    write_table(layout.manifest(stem), _manifest(kept, stem=stem))
    write_table(layout.withheld_manifest(stem), _manifest(withheld, stem=stem))
    write_table(layout.rejected(stem), rejected)
    info = ShardInfo(
        name=stem,
        split=ShardName.parse(stem).split,
        inputs=table.schema.metadata[INPUTS].decode(),
        records=len(kept),
        bytes=sum(row["length_bytes"] for row in kept),
        sha256=shard,
        frames=sum(row["frames"] for row in kept),
        tokens=sum(row["tokens"] for row in kept),
        manifest_sha256=file_sha256(layout.manifest(stem)),
        rejected=len(rejected),
        rejected_sha256=file_sha256(layout.rejected(stem)),
        withheld=len(withheld),
        withheld_sha256=aside,
        withheld_manifest_sha256=file_sha256(layout.withheld_manifest(stem)),
    )
    report = summary.report(info, kept=kept, rejected=rejected)
    write_json(staging.report(stem), report, durable=False)
    return report


def _write_records(
    rows: list[Row], *, stem: str, name: str, data: Layout, staging: Staging, see: Callable[[bytes], None] | None
) -> str:
    """Put the rows' records into one file, unless one that exists holds just them; its sha256.

    Each row's place is changed to the new one. `see` is shown each serialised record.
    """
    target = {"shards": staging.layout.shard, "withheld": staging.layout.withheld}[name](stem)
    whole = _is_whole(rows, name=name, stem=stem, data=data, staging=staging)
    digest = hashlib.sha256()
    with contextlib.ExitStack() as files:
        sources = _Sources(stem, data=data, staging=staging, files=files)
        sink = None if whole else files.enter_context(new_file(target))
        offset = 0
        for row in rows:
            framed = sources.read(row)
            digest.update(framed)
            if see is not None:
                see(unframe(framed))
            if sink is not None:
                sink.write(framed)
            row["offset_bytes"], offset = offset, offset + len(framed)
    if whole == "measured":
        fsync_path(staging.records(stem))
        link_file(staging.records(stem), target)
    return digest.hexdigest()


def _is_whole(rows: list[Row], *, name: str, stem: str, data: Layout, staging: Staging) -> str | None:
    """The kind of file that holds just these records: "measured", or the published one under this name."""
    published = {"shards": data.shard, "withheld": data.withheld}[name](stem)
    wanted_bytes = sum(row["length_bytes"] for row in rows)
    for kind, path in (("measured", staging.records(stem)), (name, published)):
        if all(row[FILE] == kind for row in rows) and _can_be_read(path, size_bytes=wanted_bytes):
            return kind
    return None


def _can_be_read(path: StoragePath, *, size_bytes: int) -> bool:
    """Whether there is such a file; also one without records has to be opened before it is believed."""
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END) == size_bytes
    except OSError:
        return False


class _Sources:
    """The files that records are read from, each opened once."""

    def __init__(self, stem: str, *, data: Layout, staging: Staging, files: contextlib.ExitStack):
        self._paths = {"measured": staging.records(stem), "shards": data.shard(stem), "withheld": data.withheld(stem)}
        self._files, self._open = files, dict[str, BinaryIO]()

    def read(self, row: Row) -> bytes:
        kind = row[FILE]
        if kind not in self._open:
            self._open[kind] = self._files.enter_context(self._paths[kind].open("rb"))
        self._open[kind].seek(row["offset_bytes"])
        return self._open[kind].read(row["length_bytes"])


def _manifest(rows: list[Row], *, stem: str) -> pa.Table:
    place = {"split": ShardName.parse(stem).split, "shard": stem}
    return pa.Table.from_pylist([row | place | {"index": index} for index, row in enumerate(rows)], schema=MANIFEST)


def _rejected(refused: StoragePath, *, withheld: list[Row]) -> pa.Table:
    """Those of which there is no record, then those that a verdict withheld."""
    columns = ("utterance_id", "audio_path", "language", "reason", "message")
    rows = [{"stage": FILTER_STAGE, **{name: row[name] for name in columns}} for row in withheld]
    return pa.concat_tables([read_table(refused, schema=REJECTED), pa.Table.from_pylist(rows, schema=REJECTED)])


class Summary:
    """Sums over the kept records of one shard."""

    def __init__(self, contract: Contract):
        self._contract, n_mels = contract, contract.features.n_mels
        self._token_ids: set[int] = set()
        self._sums = np.zeros((2, n_mels), np.float64)  # of values, of squares

    def add(self, payload: bytes) -> None:
        """One serialised record."""
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
        faults = [row for row in rejected.to_pylist() if row["reason"] not in EXCLUDED_BY_CONFIG]
        return ShardReport(
            info=info,
            records_by_language=_count(kept, "language"),
            faults_by_language=_count(faults, "language"),
            faults_by_reason=_count(faults, "reason"),
            records_by_speaker=_count(kept, "speaker"),
            token_ids=sorted(self._token_ids),
            mel_sums=self._sums[0].tolist(),
            mel_squares=self._sums[1].tolist(),
        )


def _count(rows: list[Row], column: str) -> dict[str, int]:
    return dict(sorted(collections.Counter(row[column] for row in rows).items()))
