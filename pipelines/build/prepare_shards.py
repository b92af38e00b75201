"""First step of a build: prepare the utterances of a shard, each into a record or a rejection.

A shard is a pure function of its utterances: a hash of their ids determines their order, and nothing else that a
worker knows enters the bytes. Rows that an earlier build prepared from the same inputs are reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.incremental import (
    ReusePolicy,
    hash_inputs,
    is_intact,
    preparation_fingerprint,
    read_manifest_rows,
)
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.shard_plan import Element
from pipelines.build.staging import FILE, INPUTS, PREPARED_ROWS, STAGED, Staging
from pipelines.config import BuildConfig
from pipelines.execution.progress_counter import ProgressCounter
from preprocess.record import Preparation, PreparedUtterance, rejection
from preprocess.utterance import FILTER_STAGE, Reason, Rejection, Utterance
from shared.files import link_file, new_file
from shared.hashing import sort_key
from shared.layout import Layout
from shared.records import encode
from shared.storage_path import StoragePath
from shared.tables import REJECTED, read_table, write_table
from shared.tfrecord import CorruptTFRecord, frame_record, read_framed_records


class PrepareShard(beam.DoFn):
    """(shard name, elements) -> shard name, after its records and rejections are in the staging folder."""

    def __init__(
        self,
        config: BuildConfig,
        *,
        reuse: ReusePolicy,
        data: StoragePath,
        staging: StoragePath,
        interrupted: Sequence[StoragePath],
    ):
        self._config, self._reuse = config, reuse
        self._data, self._staging = Layout(data), Staging(staging)
        self._interrupted = [Staging(folder) for folder in interrupted]

    def setup(self) -> None:
        self._prepare = create_preparation(self._config)
        contract = create_contract(self._prepare)
        self._fingerprint = preparation_fingerprint(contract, decode_limit_s=self._config.decode_limit_s)

    def process(self, element: tuple[str, Iterable[Element | None]]) -> Iterator[str]:
        shard_name, grouped = element
        elements = sort_elements(one for one in grouped if one is not None)
        with translate_disk_errors(staging=self._staging.root):
            progress = ProgressCounter(self._staging.progress_folder, name=shard_name)
            if self._is_prepared(shard_name, elements):
                progress.add(len(elements))
            else:
                prepare_shard(
                    elements,
                    shard_name=shard_name,
                    inputs=self._inputs(elements),
                    staging=self._staging,
                    prepare=self._prepare,
                    progress=progress,
                )
            progress.flush()
        yield shard_name

    def _inputs(self, elements: list[Element]) -> str:
        return hash_inputs(elements, fingerprint=self._fingerprint)

    def _is_prepared(self, shard_name: str, elements: list[Element]) -> bool:
        """Whether the rows exist: written by a retried call, or reused from a published or an interrupted build."""
        if self._staging.rows_path(shard_name).is_file():
            return True
        if shard_name in self._reuse.always:
            inputs = self._reuse.always[shard_name] or self._inputs(elements)
            reuse_published_shard(shard_name, inputs=inputs, data=self._data, staging=self._staging)
            return True
        inputs = self._inputs(elements)
        shard = self._reuse.if_unchanged.get(shard_name)
        if shard is not None and shard.inputs == inputs and is_intact(shard, data=self._data):
            reuse_published_shard(shard_name, inputs=inputs, data=self._data, staging=self._staging)
            return True
        return any(
            reuse_interrupted_shard(
                shard_name, inputs=inputs, count=len(elements), interrupted=interrupted, staging=self._staging
            )
            for interrupted in self._interrupted
        )


def sort_elements(elements: Iterable[Element]) -> list[Element]:
    """Sort by the hash of the id; elements that share an id always come out in the same order."""
    return sorted(elements, key=lambda one: (sort_key(one.id), one.audio_path, repr(one)))


def prepare_shard(
    elements: list[Element],
    *,
    shard_name: str,
    inputs: str,
    staging: Staging,
    prepare: Preparation,
    progress: ProgressCounter,
) -> None:
    """Prepare each element and write records, rows and rejections; one record is in memory at a time."""
    rows: list[dict[str, Any]] = []
    rejections: list[Rejection] = []
    with new_file(staging.records_path(shard_name), durable=False) as file:
        for outcome in _outcomes(elements, prepare=prepare):
            if isinstance(outcome, Rejection):
                rejections.append(outcome)
            else:
                utterance, prepared = outcome
                offset, framed = file.tell(), frame_record(encode(prepared.record))
                file.write(framed)
                position = {"offset_bytes": offset, "length_bytes": len(framed), FILE: STAGED}
                rows.append({**_row(utterance, prepared), **position})
            progress.add()
    columns = {name: [row[name] for row in rows] for name in PREPARED_ROWS.names}
    table = pa.table(columns, schema=PREPARED_ROWS)
    _write(table, _rejected_table(rejections), shard_name=shard_name, inputs=inputs, staging=staging)


def reuse_published_shard(shard_name: str, *, inputs: str, data: Layout, staging: Staging) -> None:
    """Copy rows and rejections of the published shard; its records stay in the published files."""
    parts = [
        table.select([name for name in PREPARED_ROWS.names if name != FILE]).append_column(
            PREPARED_ROWS.field(FILE), pa.array([folder] * len(table), pa.string())
        )
        for folder, table in read_manifest_rows(shard_name, data=data).items()
    ]
    rows = pa.concat_tables(parts)
    keys = [sort_key(utterance_id) for utterance_id in rows["utterance_id"].to_pylist()]
    order = sorted(range(len(rows)), key=keys.__getitem__)
    rejected = read_table(data.rejected(shard_name), schema=REJECTED)
    failed = rejected.filter(pc.not_equal(rejected["stage"], FILTER_STAGE))
    rows = rows.take(pa.array(order, pa.int64()))
    _write(rows, failed, shard_name=shard_name, inputs=inputs, staging=staging)


def reuse_interrupted_shard(
    shard_name: str, *, inputs: str, count: int, interrupted: Staging, staging: Staging
) -> bool:
    """Link the prepared records of an interrupted build; False unless they are complete and of the same inputs."""
    try:
        rows = interrupted.read_rows(shard_name)
        failed = read_table(interrupted.failed_path(shard_name), schema=REJECTED)
        same = rows.schema.equals(PREPARED_ROWS) and (rows.schema.metadata or {}).get(INPUTS) == inputs.encode()
        if not same or len(rows) + len(failed) != count or set(rows[FILE].to_pylist()) - {STAGED}:
            return False
        with interrupted.records_path(shard_name).open("rb") as file:
            if [found.offset_bytes for found in read_framed_records(file)] != rows["offset_bytes"].to_pylist():
                return False
    except (OSError, pa.ArrowException, CorruptTFRecord):  # the build, or the machine, stopped before the end
        return False
    link_file(interrupted.records_path(shard_name), staging.records_path(shard_name))
    _write(rows, failed, shard_name=shard_name, inputs=inputs, staging=staging)
    return True


def _write(rows: pa.Table, failed: pa.Table, *, shard_name: str, inputs: str, staging: Staging) -> None:
    write_table(staging.failed_path(shard_name), failed, durable=False)
    write_table(staging.rows_path(shard_name), rows.replace_schema_metadata({INPUTS: inputs}), durable=False)


def _row(utterance: Utterance, prepared: PreparedUtterance) -> dict[str, Any]:
    return {
        "language": utterance.language,
        "speaker": utterance.speaker,
        "original_text": utterance.text,
        "audio_path": utterance.audio_path,
        **prepared.manifest_columns(),
    }


def _rejected_table(rejections: list[Rejection]) -> pa.Table:
    rows = [
        {
            "utterance_id": one.id,
            "audio_path": one.audio_path,
            "language": one.language,
            "stage": one.stage,
            "reason": str(one.reason),
            "message": one.message,
        }
        for one in rejections
    ]
    return pa.Table.from_pylist(rows, schema=REJECTED)


def _outcomes(
    elements: list[Element], *, prepare: Preparation
) -> Iterator[tuple[Utterance, PreparedUtterance] | Rejection]:
    """Each element's record or rejection, in the order of the shard; of elements with one id only the first."""
    seen: set[str] = set()
    for element in elements:
        if isinstance(element, Rejection):
            yield element
        elif element.id in seen:
            yield rejection(
                element, stage="shard", reason=Reason.DUPLICATE_ID, message="an earlier utterance has this id"
            )
        else:
            seen.add(element.id)
            prepared = prepare(element)
            yield prepared if isinstance(prepared, Rejection) else (element, prepared)
