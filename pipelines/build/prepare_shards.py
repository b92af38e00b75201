"""The first step of a build: every utterance of a shard becomes a measured record, or a rejection.

A shard is a pure function of the utterances that belong to it: their order comes from a hash of their ids,
and nothing that a worker knows besides them gets into the bytes. What an earlier build measured from the same
inputs is taken from there.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.build.incremental import hash_inputs, is_sound, measuring, read_rows
from pipelines.build.shard_plan import Element
from pipelines.build.shard_selection import Scope
from pipelines.build.staging import FILE, INPUTS, MEASURED, Staging
from pipelines.config import BuildConfig
from pipelines.execution.progress_counter import ProgressCounter
from preprocess.record import Preparation, PreparedUtterance, rejection
from preprocess.text import PREPARATION
from preprocess.tokens import Tokenizer
from preprocess.utterance import FILTER_STAGE, Reason, Rejection, Utterance
from shared.dataset import Contract
from shared.errors import UserError
from shared.features import preset
from shared.files import link_file, new_file
from shared.hashing import sort_key
from shared.layout import Layout
from shared.records import encode
from shared.storage_path import StoragePath
from shared.tables import REJECTED, read_table, write_table
from shared.tfrecord import CorruptTFRecord, frame_record, read_framed_records


class MeasureShard(beam.DoFn):
    """(stem, elements) -> stem, once its measured records and rejections are in the staging folder."""

    def __init__(
        self, config: BuildConfig, *, scope: Scope, data: StoragePath, staging: StoragePath, left: Sequence[StoragePath]
    ):
        self._config, self._scope = config, scope
        self._data, self._staging = Layout(data), Staging(staging)
        self._left = [Staging(folder) for folder in left]

    def setup(self) -> None:
        self._prepare = preparation(self._config)
        self._measuring = measuring(contract_of(self._prepare), decode_limit_s=self._config.decode_limit_s)

    def process(self, element: tuple[str, Iterable[Element | None]]) -> Iterator[str]:
        stem, grouped = element
        elements = in_order(one for one in grouped if one is not None)
        tally = ProgressCounter(self._staging.progress, name=stem)
        try:
            if self._is_there(stem, elements):
                tally.add(len(elements))
            else:
                measure_shard(
                    elements,
                    stem=stem,
                    inputs=self._inputs(elements),
                    staging=self._staging,
                    prepare=self._prepare,
                    tally=tally,
                )
            tally.flush()
        except OSError as error:
            raise UserError(disk_message(error, staging=self._staging.root)) from error
        yield stem

    def _inputs(self, elements: list[Element]) -> str:
        return hash_inputs(elements, measuring=self._measuring)

    def _is_there(self, stem: str, elements: list[Element]) -> bool:
        """Whether the shard is measured: by a twin of this call, by an older build, or by one that was cut short."""
        if self._staging.rows(stem).is_file():
            return True
        if stem in self._scope.trusted:
            inputs = self._scope.trusted[stem] or self._inputs(elements)
            reuse_shard(stem, inputs=inputs, data=self._data, staging=self._staging)
            return True
        inputs = self._inputs(elements)
        shard = self._scope.published.get(stem)
        if shard is not None and shard.inputs == inputs and is_sound(shard, data=self._data):
            reuse_shard(stem, inputs=inputs, data=self._data, staging=self._staging)
            return True
        return any(
            take_over(stem, inputs=inputs, count=len(elements), left=left, staging=self._staging) for left in self._left
        )


def in_order(elements: Iterable[Element]) -> list[Element]:
    """By the hashes of their ids; of several with one id the same is first, in whatever order they arrive."""
    return sorted(elements, key=lambda one: (sort_key(one.id), one.audio_path, repr(one)))


def preparation(config: BuildConfig) -> Preparation:
    """What the config says of one utterance."""
    return Preparation(
        features=preset(config.features),
        mel_dtype=config.mel_dtype,
        tokenizer=Tokenizer(config.tokenizer),
        processing=config.processing,
        decode_limit_s=config.decode_limit_s,
    )


def contract_of(prepare: Preparation) -> Contract:
    """What the numbers of the shards will mean."""
    return Contract(
        features=prepare.features,
        mel_dtype=prepare.mel_dtype,
        tokenizer=prepare.tokenizer.identity,
        text_preparation=PREPARATION,
        processing=prepare.processing,
    )


def measure_shard(
    elements: list[Element], *, stem: str, inputs: str, staging: Staging, prepare: Preparation, tally: ProgressCounter
) -> None:
    """Prepare each element, holding one in memory at a time; write records, rows and rejections."""
    rows: list[dict[str, Any]] = []
    rejections: list[Rejection] = []
    with new_file(staging.records(stem), durable=False) as file:
        for outcome in _outcomes(elements, prepare=prepare):
            if isinstance(outcome, Rejection):
                rejections.append(outcome)
            else:
                utterance, prepared = outcome
                offset, framed = file.tell(), frame_record(encode(prepared.record))
                file.write(framed)
                place = {"offset_bytes": offset, "length_bytes": len(framed), FILE: "measured"}
                rows.append({**_row(utterance, prepared), **place})
            tally.add()
    columns = {name: [row[name] for row in rows] for name in MEASURED.names}
    _write(pa.table(columns, schema=MEASURED), _rejected_table(rejections), stem=stem, inputs=inputs, staging=staging)


def reuse_shard(stem: str, *, inputs: str, data: Layout, staging: Staging) -> None:
    """Take rows and rejections from the published shard; its records stay where they are."""
    parts = [
        table.select([name for name in MEASURED.names if name != FILE]).append_column(
            MEASURED.field(FILE), pa.array([folder] * len(table), pa.string())
        )
        for folder, table in read_rows(stem, data=data).items()
    ]
    rows = pa.concat_tables(parts)
    keys = [sort_key(utterance_id) for utterance_id in rows["utterance_id"].to_pylist()]
    order = sorted(range(len(rows)), key=keys.__getitem__)
    rejected = read_table(data.rejected(stem), schema=REJECTED)
    hard = rejected.filter(pc.not_equal(rejected["stage"], FILTER_STAGE))
    _write(rows.take(pa.array(order, pa.int64())), hard, stem=stem, inputs=inputs, staging=staging)


def take_over(stem: str, *, inputs: str, count: int, left: Staging, staging: Staging) -> bool:
    """Give the measured records of a build that was cut short one more name; whether they were whole."""
    try:
        rows, refused = left.read_rows(stem), read_table(left.refused(stem), schema=REJECTED)
        same = rows.schema.equals(MEASURED) and (rows.schema.metadata or {}).get(INPUTS) == inputs.encode()
        if not same or len(rows) + len(refused) != count or set(rows[FILE].to_pylist()) - {"measured"}:
            return False
        with left.records(stem).open("rb") as file:
            if [found.offset_bytes for found in read_framed_records(file)] != rows["offset_bytes"].to_pylist():
                return False
    except (OSError, pa.ArrowException, CorruptTFRecord):  # it died before the end, or the machine did
        return False
    link_file(left.records(stem), staging.records(stem))
    _write(rows, refused, stem=stem, inputs=inputs, staging=staging)
    return True


def _write(rows: pa.Table, rejected: pa.Table, *, stem: str, inputs: str, staging: Staging) -> None:
    write_table(staging.refused(stem), rejected, durable=False)
    write_table(staging.rows(stem), rows.replace_schema_metadata({INPUTS: inputs}), durable=False)


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
    """Each element's record or rejection, in the order of the shard; only the first of an id is prepared."""
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


def disk_message(error: OSError, *, staging: StoragePath) -> str:
    """What a failing disk means for the user."""
    where = error.filename or staging
    data = Layout(staging.parent.parent)
    if _is_publishing(data):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = f"{data.root}: the disk is full" if full else f"{where}: {error.strerror}"
        message = "the new dataset is published, but not all of its files have their names yet"
        return f"{what}; {message}; {'make room' if full else 'mend it'}, and whatever opens it next goes on"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{data.root}: the disk is full; nothing was published; make room and run the build again"
    return f"{where}: {error.strerror}; nothing was published; mend it and run the build again"


def _is_publishing(data: Layout) -> bool:
    """Whether there is no way back any more."""
    try:
        return data.journal.is_file()
    except OSError:
        return False
