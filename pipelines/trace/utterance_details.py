"""Everything about one utterance: its record, its audio file, its text and tokens, and the contract."""

from __future__ import annotations

import hashlib
from typing import Any

import pydantic

from pipelines.storage.record_reader import decode_mel, read_record_of
from pipelines.tables.load import KEPT, WITH_RECORD
from pipelines.trace.lookup import Row
from preprocess.audio_file import hash_recording, read_fault
from preprocess.checks import ALL_BOUNDS
from preprocess.corpora.json_rows import json_object
from preprocess.utterance import NO_CUSTOM, Reason, Rejected
from shared.dataset import Contract, Dataset, DatasetInfo
from shared.errors import UserError
from shared.layout import ShardName
from shared.records import decode, mel_rows
from shared.storage_path import StoragePath
from shared.tables import MANIFEST
from shared.vocabulary import Vocabulary

UNCHANGED, CHANGED, MISSING = "unchanged", "changed", "missing"
VALID = "valid"

# Columns that have fields of their own.
_ELSEWHERE = {
    *("split", "shard", "index", "offset_bytes", "length_bytes", "utterance_id", "language", "speaker"),
    *("text", "original_text", "audio_path", "audio_sha256", "custom"),
}


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, arbitrary_types_allowed=True)


class RecordLocation(_Frozen):
    """The location of the record; `state` is "valid" or describes the damage."""

    file: str  # path within the dataset
    index: int
    offset_bytes: int
    length_bytes: int
    sha256: str | None  # of the serialised record, without the framing of TFRecord
    state: str


class AudioFileState(_Frozen):
    """The audio file; `state` is "unchanged", "changed", "missing", or says why it cannot be read."""

    path: str
    recorded_sha256: str | None  # None if the utterance has no record
    current_sha256: str | None
    state: str


class UtteranceDetails(_Frozen):
    """One utterance."""

    utterance_id: str
    source: str
    reader: str
    split: str
    language: str
    speaker: str | None
    status: str
    reason: str
    message: str
    threshold: str  # the threshold that filtered it, as a config field with its value
    record: RecordLocation | None
    audio: AudioFileState
    original_text: str | None
    text: str | None
    tokens: list[tuple[int, str]]  # (NLLB id, piece)
    measures: dict[str, str | int | float | bool]
    custom: dict[str, str | int | float | bool | None]  # further columns of the corpus' metadata
    contract: Contract
    fingerprint: str
    reproduction: str | None = None  # result of `--reproduce`

    @property
    def is_valid(self) -> bool:
        return self.record is None or self.record.state == VALID


def read_utterance_details(dataset: Dataset, row: Row) -> tuple[UtteranceDetails, bytes | None]:
    """The details of a table row, and its serialised record if that is valid."""
    info, stem = dataset.info, ShardName.parse(row["shard"])
    record, payload = _read_record(dataset, row)
    return UtteranceDetails(
        utterance_id=row["utterance_id"],
        source=stem.source,
        reader=info.sources[stem.source].reader,
        split=stem.split,
        language=row["language"],
        speaker=row["speaker"],
        status=row["status"],
        reason=row["reason"],
        message=row["message"],
        threshold=threshold_of(row["reason"], info=info, source=stem.source, language=row["language"]),
        record=record,
        audio=audio_state(row),
        original_text=row["original_text"],
        text=row["text"],
        tokens=_pieces(payload, dataset=dataset) if payload else [],
        measures={name: row[name] for name in MANIFEST.names if name not in _ELSEWHERE and row[name] is not None},
        custom=_custom(row),
        contract=info.contract,
        fingerprint=info.fingerprint,
    ), payload


def _custom(row: Row) -> dict[str, Any]:
    """The custom columns; none of a rejected utterance.

    Raises:
        UserError: the manifest was changed by hand, and has no JSON object.
    """
    try:
        return json_object(row["custom"] or NO_CUSTOM)
    except Rejected as error:
        place = f"the manifest of {row['shard']}, {row['utterance_id']}: custom"
        raise UserError(f"{place}: {error.message}; run `make validate`") from error


def _read_record(dataset: Dataset, row: Row) -> tuple[RecordLocation | None, bytes | None]:
    if row["status"] not in WITH_RECORD:
        return None, None
    layout = dataset.layout
    path = layout.shard(row["shard"]) if row["status"] == KEPT else layout.withheld(row["shard"])
    state, payload = VALID, None
    try:
        payload = _checked(path, row=row, contract=dataset.info.contract)
    except OSError as error:
        state = f"cannot be read ({error.strerror})"
    except (ValueError, KeyError) as error:
        state = f"damaged ({error})"
    place = {name: row[name] for name in ("index", "offset_bytes", "length_bytes")}
    digest = hashlib.sha256(payload).hexdigest() if payload else None
    return RecordLocation(file=f"{path.parent.name}/{path.name}", **place, sha256=digest, state=state), payload


def _checked(path: StoragePath, *, row: Row, contract: Contract) -> bytes:
    """The record at the row's place.

    Raises:
        ValueError, KeyError: there is none, or not this one.
    """
    payload = read_record_of(path, row=row)
    index, features = row["index"], decode(payload)
    rows = len(decode_mel(features, contract=contract))
    if features["frames"] != [row["frames"]] or rows != mel_rows(row["frames"], mel_dtype=contract.mel_dtype):
        raise ValueError(f"record {index} has {features['frames']} frames, the manifest says {row['frames']}")
    return payload


def audio_state(row: Row) -> AudioFileState:
    """The state of the audio file of a row."""
    then, path = row["audio_sha256"], row["audio_path"]
    now = None
    try:
        now = hash_recording(path)
        state = UNCHANGED if now == then else CHANGED if then else "there"
    except FileNotFoundError:
        state = MISSING
    except (OSError, ValueError, Rejected) as error:
        state = f"cannot be read ({read_fault(error)})"
    return AudioFileState(path=path, recorded_sha256=then, current_sha256=now, state=state)


def _pieces(payload: bytes, *, dataset: Dataset) -> list[tuple[int, str]]:
    """Token ids with their pieces; `#id` if the vocabulary of the kept records lacks the token."""
    vocabulary = Vocabulary.load(dataset.layout.vocabulary)
    names: dict[Any, str] = dict(zip(vocabulary.nllb_ids.tolist(), vocabulary.pieces, strict=True))
    tokens = [token for token in decode(payload)["tokens"] if isinstance(token, int)]
    return [(token, names.get(token, f"#{token}")) for token in tokens]


def threshold_of(reason: str, *, info: DatasetInfo, source: str, language: str) -> str:
    """The threshold that belongs to a reason, with its value; empty if there is none."""
    checks = info.selection.checks
    for bound in ALL_BOUNDS:
        if bound.reason == reason and checks.get(bound.threshold) is not None:
            return f"checks.{bound.threshold}={checks[bound.threshold]}"
    if reason in (Reason.TOO_SLOW, Reason.TOO_FAST):
        name = "characters_per_second_deviations"
        band = info.selection.characters_per_second.get(source, {}).get(language)
        allowed = f", {band[0]:.4g} to {band[1]:.4g} characters/s" if band else ""
        return f"checks.{name}={checks.get(name)}{allowed}"
    return "checks.reject_text_leaks=True" if reason == Reason.LEAKED_TEXT else ""
