"""Inspection of one shard: every byte of its files and every claim that is made of them."""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pydantic

from pipelines.evidence import Facts, RecordError, check_place, check_row, read_facts
from pipelines.findings import Finding, ShardVerdict
from pipelines.progress import Tally
from preprocess.checks import ALL_BOUNDS, CheckConfig, failures, unknown_fraction
from shared.dataset import Dataset, ShardInfo
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Stem
from shared.tables import MANIFEST, REJECTED
from shared.tfrecord import CorruptFrame, Frame, framed_bytes, read_frame


def stated_checks(dataset: Dataset) -> CheckConfig:
    """The thresholds that dataset.json states.

    Raises:
        UserError: they are none.
    """
    try:
        return CheckConfig.model_validate(dataset.info.selection.checks)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("selection", "checks", *first["loc"])))
        message = f"{dataset.layout.info}: {where}: {first['msg']}: the file was edited; run `make preprocess` again"
        raise UserError(message) from error


class Inspection:
    """One shard under inspection."""

    def __init__(self, shard: ShardInfo, *, dataset: Dataset, tally: Tally):
        self._shard, self._tally = shard, tally
        self._layout, self._contract = dataset.layout, dataset.info.contract
        self._checks = stated_checks(dataset)
        self._speakers = {speaker.id: name for name, speaker in dataset.info.speakers.items()}
        self._findings: list[Finding] = []
        self._rows: list[dict[str, Any]] = []
        self._facts: list[Facts] = []
        self._mel_sums, self._mel_squares = np.zeros((2, self._contract.features.n_mels), np.float64)

    def claims(self) -> Iterator[tuple[str, str]]:
        """What must stand in one shard or split only, once `verdict` was asked for: (kind, value)."""
        yield from (("utterance_id", facts.utterance_id) for facts in self._facts)
        yield from (("audio", row["audio_sha256"]) for row in self._rows)

    def verdict(self) -> ShardVerdict:
        """Inspect all three files, then the records against the rows."""
        self._check_files()
        rows = self._rows = self._manifest_rows()
        if self._layout.shard(self._shard.name).is_file():
            with self._layout.shard(self._shard.name).open("rb") as file:
                self._check_records(file, rows=rows)
        self._check_selection(rows)
        self._check_sums(rows)
        self._tally.flush()
        return ShardVerdict(
            stem=self._shard.name,
            findings=self._findings,
            records=len(self._facts),
            records_by_language=self._count("language"),
            records_by_speaker=self._count("speaker"),
            mel_sums=self._mel_sums.tolist(),
            mel_squares=self._mel_squares.tolist(),
            frames=sum(facts.frames for facts in self._facts),
        )

    def _check_files(self) -> None:
        """Presence, size and sha256 of the shard, its tables and what was withheld."""
        shard = self._layout.shard(self._shard.name)
        if shard.is_file() and shard.stat().st_size != self._shard.bytes:
            self._find(shard, "size", f"{shard.stat().st_size} bytes, wanted {self._shard.bytes}")
        parts = self._layout.parts(self._shard.name)
        for path, wanted in zip(parts, self._shard.sha256_of_parts(), strict=True):
            if not path.is_file():
                self._find(path, "missing", "the file is not there")
            elif (found := file_sha256(path)) != wanted:
                self._find(path, "sha256", f"{found}, wanted {wanted}")

    def _manifest_rows(self) -> list[dict[str, Any]]:
        for path, schema, wanted in (
            (self._layout.rejected(self._shard.name), REJECTED, self._shard.rejected),
            (self._layout.withheld_manifest(self._shard.name), MANIFEST, self._shard.withheld),
        ):
            if (found := len(self._table(path, schema=schema))) != wanted:
                self._find(path, "rows", f"{found} rows, wanted {wanted}")
        return self._table(self._layout.manifest(self._shard.name), schema=MANIFEST)

    def _table(self, path: Any, *, schema: pa.Schema) -> list[dict[str, Any]]:
        if not path.is_file():
            return []
        try:
            table = pq.read_table(path)
            if table.schema.equals(schema):
                return table.to_pylist()
            self._find(path, "parquet", f"columns {table.schema.names}, wanted {schema.names} with their types")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._find(path, "parquet", f"cannot be read: {str(error).splitlines()[0]}")
        return []

    def _check_records(self, file: BinaryIO, *, rows: list[dict[str, Any]]) -> None:
        previous: str | None = None
        for index, found in _frames(file, rows=rows):
            row = rows[index] if index < len(rows) else None
            name = row["utterance_id"] if row else None
            try:
                if isinstance(found, CorruptFrame):
                    raise RecordError("framing", f"{found.reason} (at byte {found.offset_bytes})")
                facts = read_facts(found.payload, contract=self._contract, speakers=self._speakers)
                name = facts.utterance_id
                self._facts.append(facts)
                self._add_mel(facts.mel)
                check_place(facts.utterance_id, stem=Stem.parse(self._shard.name), previous=previous)
                previous = facts.utterance_id
                check_row(row, facts=facts, frame=found, shard=self._shard)
            except RecordError as error:
                path = self._layout.shard(self._shard.name)
                self._find(path, error.check, error.message, index=index, utterance_id=name)
            self._tally.add()

    def _add_mel(self, mel: np.ndarray) -> None:
        self._mel_sums += mel.sum(axis=0)
        self._mel_squares += np.square(mel).sum(axis=0)

    def _check_selection(self, rows: list[dict[str, Any]]) -> None:
        """Whether what was kept passes the thresholds that dataset.json states."""
        columns = {name: np.array([row[name] for row in rows]) for name in MANIFEST.names}
        columns["unknown_fraction"] = unknown_fraction(columns)
        path = self._layout.manifest(self._shard.name)
        for row, _, message in failures(columns, checks=self._checks, bounds=ALL_BOUNDS):
            self._find(path, "selection", message, index=row, utterance_id=rows[row]["utterance_id"])

    def _check_sums(self, rows: list[dict[str, Any]]) -> None:
        """What dataset.json and the manifest say of the shard as a whole."""
        path = self._layout.shard(self._shard.name)
        for check, found, wanted in (
            ("records", len(self._facts), self._shard.records),
            ("frames", sum(facts.frames for facts in self._facts), self._shard.frames),
            ("tokens", sum(facts.tokens for facts in self._facts), self._shard.tokens),
        ):
            if found != wanted:
                self._find(path, check, f"{found} sound {check}, dataset.json says {wanted}")
        present = {facts.utterance_id for facts in self._facts}
        for row in rows:
            if row["utterance_id"] not in present:
                message = "the manifest has a row for it, but the shard holds no sound record"
                self._find(path, "absent", message, index=row["index"], utterance_id=row["utterance_id"])

    def _find(
        self,
        path: Any,
        check: str,
        message: str,
        *,
        index: int | None = None,
        utterance_id: str | None = None,
    ) -> None:
        file = str(path.relative_to(self._layout.root))
        self._findings.append(Finding(file=file, check=check, message=message, index=index, utterance_id=utterance_id))

    def _count(self, field: str) -> dict[str, int]:
        return dict(sorted(collections.Counter(getattr(facts, field) for facts in self._facts).items()))


def _frames(file: BinaryIO, *, rows: list[dict[str, Any]]) -> Iterator[tuple[int, Frame | CorruptFrame]]:
    """Each record by its index; past a broken length the manifest's offsets lead on."""
    index, offset, size = 0, 0, file.seek(0, os.SEEK_END)
    while True:
        try:
            frame = read_frame(file, index=index, offset_bytes=offset)
            if frame is None:
                return
            yield index, frame
            offset += framed_bytes(frame.payload)
        except CorruptFrame as error:
            yield index, error
            if index + 1 >= len(rows) or not offset < rows[index + 1]["offset_bytes"] < size:
                return
            offset = rows[index + 1]["offset_bytes"]
        index += 1
