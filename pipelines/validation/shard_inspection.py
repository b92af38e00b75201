"""Checks every byte of one shard and every statement that dataset.json and the tables make about it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pydantic

from pipelines.execution.progress_counter import ProgressCounter
from pipelines.storage.file_states import state_of
from pipelines.validation.findings import Findings, ShardVerdict
from pipelines.validation.manifest_rows import ManifestRow, misplaced, parse_rows
from pipelines.validation.record_inspector import InvalidRecord, RecordInspector
from pipelines.validation.recordings import CHECK as RECORDING
from pipelines.validation.recordings import check_recordings, recordings_state
from preprocess.check_config import CheckConfig
from preprocess.checks import ALL_BOUNDS, failures, unknown_fraction
from preprocess.utterance import FILTER_STAGE, Reason
from shared.dataset import DatasetInfo, ShardInfo, SpeakerInfo
from shared.errors import UserError
from shared.hashing import speaker_id
from shared.layout import Layout, ShardName
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, check_table_size, with_added_columns

# A table without rows takes fewer bytes.
SMALL_BYTES = 1 << 13


def published_checks(info: DatasetInfo) -> CheckConfig:
    """The thresholds that dataset.json states.

    Raises:
        UserError: they are not valid thresholds.
    """
    try:
        return CheckConfig.model_validate(info.selection.checks)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{'.'.join(map(str, ('selection', 'checks', *first['loc'])))}: {first['msg']}") from error


def _table(data: bytes, *, is_damaged: bool, rows: int) -> pa.Table:
    """Parse a Parquet file of about `rows` rows.

    Raises:
        ArrowException, UnicodeDecodeError: it is not a Parquet file, or its values contradict its schema.
    """
    file = pq.ParquetFile(pa.BufferReader(data))
    check_table_size(file.metadata, rows=rows)
    table = file.read(use_threads=False)
    table.validate(full=is_damaged)
    return table


_small_table = functools.lru_cache(64)(_table)  # most shards share an empty table of rejected records


class RecordFile(NamedTuple):
    """A file of records and its manifest: the shard, or the records withheld from it."""

    path: StoragePath
    manifest: StoragePath
    sha256: str
    records: int


class SpeakerIds(Mapping[str, int]):
    """Speaker ids by name, looked up lazily: a dataset may have many speakers, a shard has few."""

    def __init__(self, speakers: Mapping[str, SpeakerInfo], *, extra: Mapping[str, int]):
        self._speakers, self._extra = speakers, extra

    def __getitem__(self, name: str) -> int:
        return self._extra[name] if name in self._extra else self._speakers[name].id

    def __iter__(self) -> Iterator[str]:
        return iter(self._speakers.keys() | self._extra.keys())

    def __len__(self) -> int:
        return len(self._speakers.keys() | self._extra.keys())


def _speakers_of_withheld(withheld: pa.Table | None) -> dict[str, int]:
    """Ids of the speakers of withheld records; dataset.json lists only speakers of kept records."""
    names = [] if withheld is None else withheld["speaker"].unique().to_pylist()
    return {name: speaker_id(name) for name in names if name is not None}


class ShardInspection:
    """Checks all files of one shard."""

    def __init__(self, shard: ShardInfo, *, layout: Layout, info: DatasetInfo, counter: ProgressCounter):
        self._shard, self._counter, self._layout, self._info = shard, counter, layout, info
        self._shard_name = ShardName.parse(shard.name)
        self._findings = Findings(root=layout.root, shard_name=shard.name)
        self._damaged: set[StoragePath] = set()  # files without the stated sha256
        self.keys = b""  # see `RecordInspector.keys`
        self.manifest: pa.Table | None = None  # None unless it is the published one

    def verdict(self) -> ShardVerdict:
        """Check all files; sets `keys` and `manifest`."""
        shard_name, shard, layout = self._shard.name, self._shard, self._layout
        state = state_of(layout.shard_files(shard_name))
        for path in layout.shard_files(shard_name):
            if not path.is_file():
                self._damaged.add(path)
                self._findings.add(path, "missing", "the file is not there")
        kept_file = RecordFile(layout.shard(shard_name), layout.manifest(shard_name), shard.sha256, shard.records)
        withheld_file = RecordFile(
            layout.withheld(shard_name), layout.withheld_manifest(shard_name), shard.withheld_sha256, shard.withheld
        )
        manifest = self._table(
            kept_file.manifest, schema=MANIFEST, sha256=shard.manifest_sha256, rows=kept_file.records
        )
        sha256, rows = shard.withheld_manifest_sha256, shard.withheld
        withheld = self._table(withheld_file.manifest, schema=MANIFEST, sha256=sha256, rows=rows)
        sha256, rows = shard.rejected_sha256, shard.rejected
        rejected = self._table(layout.rejected(shard_name), schema=REJECTED, sha256=sha256, rows=rows)
        self._check_size()
        file = self._inspect(kept_file, manifest, extra={})
        self._inspect(withheld_file, withheld, extra=_speakers_of_withheld(withheld))
        self._check_sums(file)
        recordings = self._check_recordings(manifest, part=kept_file)
        self._check_rejected(rejected, withheld=withheld)
        if manifest is not None:
            self._check_selection(manifest)
            self.manifest = None if kept_file.manifest in self._damaged else manifest
        self.keys = bytes(file.keys)
        self._counter.flush()
        return ShardVerdict(
            shard_name=shard_name,
            findings=list(self._findings),
            sums=file.totals(),
            state=state,
            recordings=recordings,
            damaged=bool(self._damaged),
        )

    def _table(self, path: StoragePath, *, schema: pa.Schema, sha256: str, rows: int) -> pa.Table | None:
        """Read a table of the shard once; None if it cannot be read."""
        if not path.is_file():
            return None
        try:
            data = path.read_bytes()
            self._check_sha256(path, found=hashlib.sha256(data).hexdigest(), expected=sha256)
            parse = _small_table if len(data) <= SMALL_BYTES else _table
            table = parse(data, is_damaged=path in self._damaged, rows=rows)
            table = with_added_columns(table, names=schema.names)
        except OSError as error:
            self._damaged.add(path)
            self._findings.add(path, "unreadable", f"{error.strerror}")
            return None
        except (pa.ArrowException, UnicodeDecodeError) as error:
            self._findings.add(path, "parquet", f"cannot be read: {str(error).splitlines()[0]}")
            return None
        if not table.schema.equals(schema):
            message = f"columns {', '.join(table.schema.names)}"
            self._findings.add(path, "parquet", message, expected=f"{', '.join(schema.names)} with their types")
            return None
        return table

    def _check_sha256(self, path: StoragePath, *, found: str, expected: str) -> None:
        if found != expected:
            self._damaged.add(path)
            self._findings.add(path, "sha256", f"sha256 {found}", expected=expected)

    def _check_size(self) -> None:
        path = self._layout.shard(self._shard.name)
        if path.is_file() and (found := path.stat().st_size) != self._shard.bytes:
            self._findings.add(path, "size", f"{found} bytes", expected=self._shard.bytes)

    def _inspect(self, part: RecordFile, table: pa.Table | None, *, extra: Mapping[str, int]) -> RecordInspector:
        """Check every record of a file against its manifest row; `extra` has speakers that dataset.json lacks."""
        speakers = SpeakerIds(self._info.speakers, extra=extra)
        rows = None if table is None else parse_rows(table)
        file = RecordInspector(shard_name=self._shard_name, rows=rows, contract=self._info.contract, speakers=speakers)
        if not part.path.is_file():
            return file
        try:
            invalid_records = file.inspect(part.path, counter=self._counter)
            self._check_sha256(part.path, found=file.sha256, expected=part.sha256)
        except OSError as error:
            self._damaged.add(part.path)
            self._findings.add(part.path, "unreadable", f"{error.strerror}")
            return file
        for invalid in invalid_records:
            self._add(invalid, part)
        if table is not None and rows is not None:
            self._check_rows(table, rows, file=file, part=part)
        return file

    def _add(self, invalid: InvalidRecord, part: RecordFile) -> None:
        index, utterance_id, error = invalid
        path = self._file_to_blame(part) if error.check == "manifest" else part.path
        self._findings.add(
            path, error.check, error.message, index=index, utterance_id=utterance_id, expected=error.expected
        )

    def _file_to_blame(self, part: RecordFile) -> StoragePath:
        """The file to blame if a record and its row differ: the one whose bytes are not the published ones."""
        return part.manifest if part.manifest in self._damaged and part.path not in self._damaged else part.path

    def _check_rows(self, table: pa.Table, rows: list[ManifestRow], *, file: RecordInspector, part: RecordFile) -> None:
        """Report misplaced rows, and rows without a record."""
        if len(rows) != part.records:
            self._findings.add(part.manifest, "rows", f"{len(rows)} rows", expected=part.records)
        valid = file.valid_ids()
        for index, row in enumerate(rows):
            if row.utterance_id not in valid and row.utterance_id not in self._findings.named:
                message = "the manifest has a row for it, but there is no valid record"
                path = self._file_to_blame(part)
                self._findings.add(path, "absent", message, index=index, utterance_id=row.utterance_id)
        for index, message in misplaced(table, shard_name=self._shard_name).items():
            self._findings.add(part.manifest, "manifest", message, index=index, utterance_id=rows[index].utterance_id)

    def _check_rejected(self, rejected: pa.Table | None, *, withheld: pa.Table | None) -> None:
        """Check the rejected utterances against dataset.json and the table of withheld records."""
        path = self._layout.rejected(self._shard.name)
        if rejected is None:
            return
        if len(rejected) != self._shard.rejected:
            self._findings.add(path, "rows", f"{len(rejected)} rows", expected=self._shard.rejected)
        reasons = set(rejected["reason"].to_pylist()) - set(Reason)
        if reasons:
            self._findings.add(path, "reason", f"unknown reasons {', '.join(sorted(reasons))}")
        if withheld is not None:
            stages, ids = rejected["stage"].to_pylist(), rejected["utterance_id"].to_pylist()
            selected = [name for name, stage in zip(ids, stages, strict=True) if stage == FILTER_STAGE]
            if selected != withheld["utterance_id"].to_pylist():
                other = self._layout.withheld_manifest(self._shard.name)
                blamed = other if other in self._damaged and path not in self._damaged else path
                message = f"{len(selected)} rows of the stage {FILTER_STAGE} do not match the withheld records"
                self._findings.add(blamed, "withheld", message, expected=len(withheld))

    def _check_recordings(self, table: pa.Table | None, *, part: RecordFile) -> str:
        """Check the recordings if the dataset stores no mels; their state before they were read."""
        if table is None or part.manifest in self._damaged or self._info.contract.stores_mels:
            return ""
        state = recordings_state(table)

        def report(index: int, utterance_id: str, message: str, expected: str | None) -> None:
            self._findings.add(part.path, RECORDING, message, index=index, utterance_id=utterance_id, expected=expected)

        check_recordings(table, report=report)
        return state

    def _check_selection(self, table: pa.Table) -> None:
        """Check that kept records pass the thresholds that dataset.json states."""
        names = {bound.column for bound in ALL_BOUNDS} & set(MANIFEST.names) | {"tokens", "unknown_tokens"}
        columns = {name: table[name].to_numpy() for name in names}
        columns["unknown_fraction"] = unknown_fraction(columns)
        path = self._layout.manifest(self._shard.name)
        for row, _, message in failures(columns, checks=published_checks(self._info), bounds=ALL_BOUNDS):
            utterance_id = table["utterance_id"][row].as_py()
            self._findings.add(path, "selection", message, index=row, utterance_id=utterance_id)

    def _check_sums(self, file: RecordInspector) -> None:
        """Compare the totals of the shard with dataset.json."""
        path, sums = self._layout.shard(self._shard.name), file.totals()
        if not file.sha256:
            return
        for check, found, expected in (
            ("records", sums.records, self._shard.records),
            ("frames", sums.frames, self._shard.frames),
            ("tokens", file.tokens, self._shard.tokens),
        ):
            if found != expected:
                self._findings.add(path, check, f"{found} {check} in valid records", expected=expected)
