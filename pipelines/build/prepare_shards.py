"""First step of a build: prepare the utterances of a shard, each into a record or a rejection.

A shard is a pure function of its utterances: a hash of their ids determines their order, and nothing else that a
worker knows enters the bytes. What an earlier build prepared from the same inputs is taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.build.crash_guard import noted_in, shard_guard
from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.incremental import ReusePolicy, preparation_fingerprint
from pipelines.build.input_states import input_state, shard_inputs
from pipelines.build.listing import Element, read_listed
from pipelines.build.older_shards import published_rows
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.prepared_rows import PreparedRows
from pipelines.build.provenance import MadeBy, check_worker, processor_here
from pipelines.build.staging import FAILED_ROWS, INPUTS, PREPARED_ON, PUBLISHED, STATE, Staging
from pipelines.build.take_over import Candidates, Found, OlderUtterances
from pipelines.config import BuildConfig
from pipelines.execution.progress_counter import ProgressCounter
from preprocess.record import PreparedUtterance
from preprocess.utterance import FILTER_STAGE, READING_STAGE, Reason, Rejection, Utterance, rejection
from shared.dataset import Contract
from shared.errors import UserError
from shared.files import new_file
from shared.hashing import sort_key
from shared.layout import Layout
from shared.storage_path import StoragePath
from shared.tables import REJECTED, read_table, write_table

# A recording that cannot be read is rejected; so many one after the other end the build.
MAX_UNREAD_IN_A_ROW = 10

Prepare = Callable[[Utterance], PreparedUtterance | Rejection]


class Listed(NamedTuple):
    """An utterance or a rejected row of a shard, and its input state."""

    element: Element
    state: bytes


class PrepareShard(beam.DoFn):
    """shard name -> shard name, after its records and rejections are in the staging folder."""

    def __init__(
        self,
        config: BuildConfig,
        *,
        contract: Contract,
        reuse: ReusePolicy,
        data: StoragePath,
        staging: StoragePath,
        interrupted: Sequence[StoragePath],
        made_by: MadeBy,
    ):
        self._config, self._contract, self._reuse, self._made_by = config, contract, reuse, made_by
        self._data, self._staging = Layout(data), Staging(staging)
        self._interrupted = [Staging(folder) for folder in interrupted]

    def setup(self) -> None:
        self._prepare = create_preparation(self._config)
        check_worker(made_by=self._made_by, contract=self._contract, here=create_contract(self._prepare))
        self._fingerprint = preparation_fingerprint(self._contract, decode_limit_s=self._config.decode_limit_s)
        self._crashed = noted_in(self._interrupted)
        self._older = OlderUtterances(
            self._reuse.take_over, data=self._data, preparation=self._fingerprint, interrupted=self._interrupted
        )

    def process(self, shard_name: str) -> Iterator[str]:
        with translate_disk_errors(staging=self._staging.root):
            progress = ProgressCounter(self._staging.progress_folder, name=shard_name)
            elements = sort_elements(read_listed(shard_name, folder=self._staging.listing_folder))
            if self._staging.rows_path(shard_name).is_file():  # by an earlier attempt at this call
                progress.add(len(elements))
            elif shard_name in self._reuse.always:
                self._reuse_whole(shard_name, elements)
                progress.add(len(elements))
            else:
                self._prepare_elements(shard_name, elements, progress=progress)
            progress.flush()
        yield shard_name

    def _reuse_whole(self, shard_name: str, elements: list[Element]) -> None:
        inputs = self._reuse.always[shard_name] or self._inputs((one, input_state(one)) for one in elements)
        reuse_published_shard(shard_name, inputs=inputs, data=self._data, staging=self._staging)

    def _prepare_elements(self, shard_name: str, elements: list[Element], *, progress: ProgressCounter) -> None:
        listed = [Listed(one, input_state(one)) for one in elements]
        guard = shard_guard(
            shard_name,
            prepare=self._prepare,
            utterance_ids=(one.id for one in elements),
            crashed=self._crashed,
            data=self._data,
            staging=self._staging,
        )
        with guard as prepare:
            prepare_shard(
                listed,
                shard_name=shard_name,
                inputs=self._inputs(listed),
                staging=self._staging,
                prepare=prepare,
                older=self._older.for_shard(shard_name, sha256=guard.sha256),
                progress=progress,
            )

    def _inputs(self, elements: Iterable[tuple[Element, bytes]]) -> str:
        return shard_inputs(elements, fingerprint=self._fingerprint)


def sort_elements(elements: Iterable[Element]) -> list[Element]:
    """Sort by the hash of the id; elements that share an id always come out in the same order."""
    return sorted(elements, key=lambda one: (sort_key(one.id), one.audio_path, repr(one)))


def prepare_shard(
    listed: list[Listed],
    *,
    shard_name: str,
    inputs: str,
    staging: Staging,
    prepare: Prepare,
    older: Candidates,
    progress: ProgressCounter,
) -> None:
    """Take over or prepare each element, and write records, rows and rejections; one record is in memory at a time."""
    failed: list[tuple[Rejection, bytes]] = []
    with new_file(staging.records_path(shard_name), durable=False) as file:
        rows = PreparedRows(file)
        unread, processor = 0, ""
        for one, outcome in _outcomes(listed, prepare=prepare, older=older):
            unread = _count_unread(outcome, before=unread)
            if isinstance(outcome, Rejection):
                failed.append((outcome, one.state))
            elif isinstance(outcome, PreparedUtterance):
                processor = processor_here()
                rows.add_prepared(_row(one.element, outcome) | {STATE: one.state}, record=outcome.record)
            else:
                rows.add_older(outcome)
            progress.add()
    report = older.published.report.model_dump_json() if older.published is not None else ""
    facts = {INPUTS: inputs, PUBLISHED: report, PREPARED_ON: processor}
    _write(rows.table(), _failed_table(failed), shard_name=shard_name, facts=facts, staging=staging)


def _count_unread(outcome: object, *, before: int) -> int:
    """The number of recordings in a row that the disk failed to read.

    Raises:
        UserError: they are so many that the disk itself must have failed.
    """
    if not isinstance(outcome, Rejection) or outcome.stage != READING_STAGE:
        return 0
    if before + 1 == MAX_UNREAD_IN_A_ROW:
        message = f"{MAX_UNREAD_IN_A_ROW} recordings in a row could not be read; nothing was published"
        raise UserError(f"{outcome.audio_path}: {outcome.message}; {message}; look after the disk and run again")
    return before + 1


def reuse_published_shard(shard_name: str, *, inputs: str, data: Layout, staging: Staging) -> None:
    """Copy rows and rejections of the published shard; its records stay in the published files.

    The input states are unknown: the corpora may have changed since the shard was made.
    """
    tables = published_rows(shard_name, data=data, states=_unknown)
    rows = pa.concat_tables(tables.values())
    keys = [sort_key(utterance_id) for utterance_id in rows["utterance_id"].to_pylist()]
    order = sorted(range(len(rows)), key=keys.__getitem__)
    rejected = read_table(data.rejected(shard_name), schema=REJECTED)
    failed = rejected.filter(pc.not_equal(rejected["stage"], FILTER_STAGE))
    states = pa.array(_unknown("rejected", len(failed)), pa.binary())
    failed = failed.append_column(FAILED_ROWS.field(STATE), states)
    rows = rows.take(pa.array(order, pa.int64()))
    _write(rows, failed, shard_name=shard_name, facts={INPUTS: inputs, PUBLISHED: "", PREPARED_ON: ""}, staging=staging)


def _unknown(table: str, rows: int) -> list[bytes]:
    return [b""] * rows


def _write(rows: pa.Table, failed: pa.Table, *, shard_name: str, facts: dict[bytes, str], staging: Staging) -> None:
    write_table(staging.failed_path(shard_name), failed, durable=False)
    write_table(staging.rows_path(shard_name), rows.replace_schema_metadata(facts), durable=False)


def _row(utterance: Element, prepared: PreparedUtterance) -> dict[str, Any]:
    assert isinstance(utterance, Utterance)
    return {
        "language": utterance.language,
        "speaker": utterance.speaker,
        "original_text": utterance.text,
        "audio_path": utterance.audio_path,
        "custom": utterance.custom,
        **prepared.manifest_columns(),
    }


def _failed_table(failed: list[tuple[Rejection, bytes]]) -> pa.Table:
    rows = [
        {
            "utterance_id": one.id,
            "audio_path": one.audio_path,
            "language": one.language,
            "stage": one.stage,
            "reason": str(one.reason),
            "message": one.message,
            STATE: state,
        }
        for one, state in failed
    ]
    return pa.Table.from_pylist(rows, schema=FAILED_ROWS)


def _outcomes(
    listed: list[Listed], *, prepare: Prepare, older: Candidates
) -> Iterator[tuple[Listed, PreparedUtterance | Found]]:
    """Each element with its record or rejection, in the order of the shard; of elements with one id only the first."""
    seen: set[str] = set()
    for one in listed:
        element = one.element
        if isinstance(element, Rejection):
            yield one, element
        elif element.id in seen:
            message = "an earlier utterance has this id"
            yield one, rejection(element, stage="shard", reason=Reason.DUPLICATE_ID, message=message)
        else:
            seen.add(element.id)
            yield one, older.find(element, state=one.state) or prepare(element)
