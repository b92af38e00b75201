"""Checks of one record: its fields, its position in the shard, and its manifest row."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipelines.validation.manifest_rows import ManifestRow
from pipelines.validation.mel_sums import are_moments
from shared.dataset import Contract
from shared.hashing import KEY_BITS
from shared.languages import FIRST_ID, LAST_ID, language_code
from shared.layout import ShardName
from shared.records import (
    FRAME_VALUE_DTYPE,
    FRAME_VALUES,
    MEL_DTYPES,
    NUM_MOMENTS,
    WAVEFORM_DTYPES,
    Field,
    decode,
    mel_rows,
)
from shared.vocabulary import END_ID, SPECIAL_IDS, UNKNOWN_ID

# ln magnitude; a full-scale square wave reaches about 6 in the loudest band of the presets
MAX_LOG_MEL = 12.0
# for rounding the log of the floor to float16
FLOOR_TOLERANCE = 0.02


class RecordError(Exception):
    """A record violates a check."""

    def __init__(self, check: str, message: str, *, expected: object = None):
        super().__init__(message)
        self.check, self.message, self.expected = check, message, expected


class ParsedRecord(NamedTuple):
    """Fields of a record under the names of the manifest's columns, and its mel."""

    utterance_id: str
    frames: int
    tokens: int
    unknown_tokens: int
    language: str
    speaker: str
    text: str
    mel: np.ndarray | None  # bytes, [N] uint8; None once they were added to the sums


def parse_record(payload: bytes, *, contract: Contract, speakers: dict[int, str]) -> ParsedRecord:
    """Parse a serialised record and check its fields.

    Raises:
        RecordError: a field is missing, of the wrong type, or not allowed by the contract.
    """
    features = _features(payload, contract=contract)
    mel = _mel(features, contract=contract)
    if contract.stores_waveforms:
        _check_waveform(features, contract=contract)
    for field in contract.record_fields:
        if field in FRAME_VALUES:
            _check_frame_values(features, field=field)
    language, tokens = features["language"][0], features["tokens"]
    check_tokens(tokens, language=language)
    speaker = features["speaker"][0]
    if speaker not in speakers:
        raise RecordError("speaker", f"{speaker} is not among the speakers of dataset.json")
    return ParsedRecord(
        utterance_id=_text(features, "utterance_id"),
        frames=features["frames"][0],
        tokens=len(tokens),
        unknown_tokens=tokens.count(UNKNOWN_ID),
        language=language_code(language),
        speaker=speakers[speaker],
        text=_text(features, "text"),
        mel=mel,
    )


def _features(payload: bytes, *, contract: Contract) -> dict[str, list[Any]]:
    try:
        features: dict[str, list[Any]] = dict(decode(payload))
    except (ValueError, UnicodeDecodeError) as error:
        raise RecordError("example", f"not a tf.train.Example: {error}") from error
    names = [field.name for field in contract.record_fields]
    if set(features) != set(names):
        raise RecordError("schema", f"features {sorted(features)}, expected {names}")
    for field in contract.record_fields:
        values, kind = features[field.name], bytes if field.kind == "bytes" else int
        if not all(isinstance(value, kind) for value in values) or (field.kind != "int64 list" and len(values) != 1):
            raise RecordError("schema", f"{field.name} is not {field.kind}")
    return features


def mel_range(contract: Contract) -> tuple[float, float]:
    """The lowest and the highest valid value of a mel, ln magnitude."""
    return contract.features.log_silence - FLOOR_TOLERANCE, MAX_LOG_MEL


def _mel(features: dict[str, list[Any]], *, contract: Contract) -> np.ndarray:
    """Bytes of the mel or of its moments, [N] uint8, with length, finiteness and range checked."""
    (data,), (frames,) = features["mel"], features["frames"]
    dtype, spec = MEL_DTYPES[contract.mel_dtype], contract.features
    expected = mel_rows(frames, mel_dtype=contract.mel_dtype) * spec.n_mels * dtype.itemsize
    if frames < 1 or len(data) != expected:
        raise RecordError(
            "shape", f"{len(data)} bytes of mel for {frames} frames of {spec.n_mels}", expected=f"{expected} bytes"
        )
    mel, (low, high) = np.frombuffer(data, dtype), np.array(mel_range(contract), dtype)
    if not np.isfinite(mel).all():
        raise RecordError("finite", f"{int((~np.isfinite(mel)).sum())} values of the mel are NaN or infinite")
    if not contract.stores_mels:
        if not are_moments(mel.reshape(NUM_MOMENTS, -1), low=low, high=high):
            raise RecordError(
                "range", "not the moments of a mel", expected=f"those of values in [{low:.3f}, {high:.3f}]"
            )
    elif mel.min() < low or mel.max() > high:
        raise RecordError("range", f"mel in [{mel.min():.3f}, {mel.max():.3f}]", expected=f"[{low:.3f}, {high:.3f}]")
    return mel.view(np.uint8)


def _check_waveform(features: dict[str, list[Any]], *, contract: Contract) -> None:
    """Raise RecordError unless the samples give as many frames as the mel has."""
    (data,), (frames,) = features["waveform"], features["frames"]
    sample_bytes = WAVEFORM_DTYPES[contract.waveform_dtype].itemsize
    if len(data) % sample_bytes or contract.features.num_frames(len(data) // sample_bytes) != frames:
        raise RecordError("shape", f"{len(data)} bytes of waveform for {frames} frames")


def _check_frame_values(features: dict[str, list[Any]], *, field: Field) -> None:
    """Raise RecordError unless there is one value for each frame, finite and not below zero."""
    (data,), (frames,) = features[field.name], features["frames"]
    expected = frames * FRAME_VALUE_DTYPE.itemsize
    if len(data) != expected:
        message = f"{len(data)} bytes of {field.name} for {frames} frames"
        raise RecordError("shape", message, expected=f"{expected} bytes")
    values = np.frombuffer(data, FRAME_VALUE_DTYPE)
    if wrong := int((~(np.isfinite(values) & (values >= 0))).sum()):
        raise RecordError("range", f"{wrong} values of {field.name} are negative or not finite")


def check_tokens(tokens: Sequence[int], *, language: int) -> None:
    """Raise RecordError unless the ids are `[language] pieces </s>`."""
    if not FIRST_ID <= language <= LAST_ID:
        raise RecordError(
            "language", f"{language} is not the id of an NLLB language", expected=f"{FIRST_ID} to {LAST_ID}"
        )
    if len(tokens) < 3 or tokens[0] != language or tokens[-1] != END_ID:
        shown = f"{list(tokens[:2])} … {list(tokens[-1:])}"
        raise RecordError("tokens", f"tokens {shown}", expected=f"[{language}, pieces…, {END_ID}]")
    wrong = [token for token in tokens[1:-1] if not (token == UNKNOWN_ID or max(SPECIAL_IDS) < token < FIRST_ID)]
    if wrong:
        raise RecordError("tokens", f"{wrong[0]} is no piece of text")


def _text(features: dict[str, list[Any]], name: str) -> str:
    try:
        text = features[name][0].decode()
    except UnicodeDecodeError as error:
        raise RecordError("text", f"{name} is not UTF-8") from error
    if not text:
        raise RecordError("text", f"{name} is empty")
    return text


def are_in_order(utterance_ids: list[str], *, shard_name: ShardName, keys: list[int]) -> bool:
    """True if `check_order` accepts all ids of a shard, whose records are sorted by key."""
    prefix, placed = f"{shard_name.source}/", list(zip(keys, utterance_ids, strict=True))
    return (
        all(map(operator.lt, placed, placed[1:]))
        and all(name.startswith(prefix) for name in utterance_ids)
        and all(one * shard_name.shards >> KEY_BITS == shard_name.shard for one in (*keys[:1], *keys[-1:]))
    )


def check_order(utterance_id: str, *, shard_name: ShardName, key: int, previous: tuple[int, str]) -> None:
    """Raise RecordError if the hash of the id (`key`) belongs to another shard, or before the previous record."""
    if not utterance_id.startswith(f"{shard_name.source}/"):
        raise RecordError("place", f"its source is {utterance_id.partition('/')[0]}", expected=shard_name.source)
    if (shard := key * shard_name.shards >> KEY_BITS) != shard_name.shard:
        raise RecordError("place", f"it belongs to shard {shard}", expected=f"shard {shard_name.shard}")
    if previous >= (key, utterance_id):
        raise RecordError("order", f"it does not come after {previous[1]}")


def check_row(row: ManifestRow | None, *, record: ParsedRecord, offset_bytes: int, length_bytes: int) -> None:
    """Raise RecordError if the manifest row of this index differs from the record."""
    if row is None:
        raise RecordError("manifest", "the manifest has no row for it")
    found = {**record._asdict(), "offset_bytes": offset_bytes, "length_bytes": length_bytes}
    for name, expected in row._asdict().items():
        if found[name] != expected:
            raise RecordError("manifest", f"its {name} is {found[name]!r}, the manifest has {expected!r}")
