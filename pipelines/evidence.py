"""What one record says, each fact of it checked by itself, and against its place and its row in the manifest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shared.dataset import Contract, ShardInfo
from shared.languages import FIRST_ID, LAST_ID, language_code
from shared.layout import Stem
from shared.order import shard_of, sort_key
from shared.records import FIELDS, MEL_DTYPES, decode
from shared.tfrecord import Frame, framed_bytes
from shared.vocabulary import END_ID, SPECIAL_IDS, UNKNOWN_ID

# ln of a mel magnitude: a full-scale square wave reaches about 6 in the presets' loudest band
MAX_LOG_MEL = 12.0
# float16's rounding of the logarithm of the floor
FLOOR_TOLERANCE = 0.02


class RecordError(Exception):
    """A record that does not hold what it should."""

    def __init__(self, check: str, message: str):
        super().__init__(message)
        self.check, self.message = check, message


class Facts(NamedTuple):
    """What a record says, under the names of the manifest's columns."""

    utterance_id: str
    frames: int
    tokens: int
    unknown_tokens: int
    language: str
    speaker: str
    text: str
    mel: np.ndarray  # [F, M] float64


def read_facts(payload: bytes, *, contract: Contract, speakers: dict[int, str]) -> Facts:
    """The facts of a record, each checked by itself.

    Raises:
        RecordError: a field is absent, of the wrong kind, or holds what the contract does not allow.
    """
    features = _features(payload)
    mel = _mel(features, contract=contract)
    language, tokens = features["language"][0], features["tokens"]
    _check_tokens(tokens, language=language)
    speaker = features["speaker"][0]
    if speaker not in speakers:
        raise RecordError("speaker", f"{speaker} is not among the speakers of dataset.json")
    return Facts(
        utterance_id=_text(features, "utterance_id"),
        frames=len(mel),
        tokens=len(tokens),
        unknown_tokens=tokens.count(UNKNOWN_ID),
        language=language_code(language),
        speaker=speakers[speaker],
        text=_text(features, "text"),
        mel=mel,
    )


def _features(payload: bytes) -> dict[str, list[Any]]:
    try:
        features: dict[str, list[Any]] = dict(decode(payload))
    except (ValueError, UnicodeDecodeError) as error:
        raise RecordError("example", f"not a tf.train.Example: {error}") from error
    if set(features) != {field.name for field in FIELDS}:
        raise RecordError("schema", f"features {sorted(features)}, wanted {[field.name for field in FIELDS]}")
    for field in FIELDS:
        values, kind = features[field.name], bytes if field.kind == "bytes" else int
        if not all(isinstance(value, kind) for value in values) or (field.kind != "int64 list" and len(values) != 1):
            raise RecordError("schema", f"{field.name} is not {field.kind}")
    return features


def _mel(features: dict[str, list[Any]], *, contract: Contract) -> np.ndarray:
    """[F, M] float64 of a mel that has the stated length and finite values in range."""
    (data,), (frames,) = features["mel"], features["frames"]
    dtype, spec = MEL_DTYPES[contract.mel_dtype], contract.features
    wanted = frames * spec.n_mels * dtype.itemsize
    if frames < 1 or len(data) != wanted:
        raise RecordError("shape", f"{len(data)} bytes of mel, wanted {wanted} for {frames} frames of {spec.n_mels}")
    mel = np.frombuffer(data, dtype).reshape(frames, spec.n_mels).astype(np.float64)
    if not np.isfinite(mel).all():
        raise RecordError("finite", f"{int((~np.isfinite(mel)).sum())} values of the mel are NaN or infinite")
    if mel.min() < spec.log_silence - FLOOR_TOLERANCE or mel.max() > MAX_LOG_MEL:
        raise RecordError(
            "range",
            f"mel in [{mel.min():.3f}, {mel.max():.3f}], wanted [{spec.log_silence:.3f}, {MAX_LOG_MEL}]",
        )
    return mel


def _check_tokens(tokens: list[int], *, language: int) -> None:
    if not FIRST_ID <= language <= LAST_ID:
        raise RecordError("language", f"{language} is no language of NLLB")
    if len(tokens) < 3 or tokens[0] != language or tokens[-1] != END_ID:
        raise RecordError("tokens", f"wanted [{language}, pieces…, {END_ID}], not {tokens[:2]} … {tokens[-1:]}")
    wrong = [token for token in tokens[1:-1] if not (token == UNKNOWN_ID or max(SPECIAL_IDS) < token < FIRST_ID)]
    if wrong:
        raise RecordError("tokens", f"{wrong[0]} is no piece of NLLB")


def _text(features: dict[str, list[Any]], name: str) -> str:
    try:
        text = features[name][0].decode()
    except UnicodeDecodeError as error:
        raise RecordError("text", f"{name} is not UTF-8") from error
    if not text:
        raise RecordError("text", f"{name} is empty")
    return text


def check_place(utterance_id: str, *, stem: Stem, previous: str | None) -> None:
    """Raises RecordError where the hash of the id puts the record into another shard or order."""
    if not utterance_id.startswith(f"{stem.source}/"):
        raise RecordError("place", f"its source is not {stem.source}")
    if shard_of(utterance_id, shards=stem.shards) != stem.shard:
        raise RecordError("place", f"it belongs into shard {shard_of(utterance_id, shards=stem.shards)}")
    if previous is not None and sort_key(previous) >= sort_key(utterance_id):
        raise RecordError("order", f"it does not come after {previous}")


def check_row(row: dict[str, Any] | None, *, facts: Facts, frame: Frame, shard: ShardInfo) -> None:
    """Raises RecordError where the manifest's row of this index says something else than the record."""
    if row is None:
        raise RecordError("manifest", "the manifest has no row for it")
    found = {
        "split": shard.split,
        "shard": shard.name,
        "index": frame.index,
        "offset_bytes": frame.offset_bytes,
        "length_bytes": framed_bytes(frame.payload),
        **{name: getattr(facts, name) for name in facts._fields if name != "mel"},
    }
    for name, value in found.items():
        if row[name] != value:
            raise RecordError("manifest", f"its {name} is {value!r}, the manifest says {row[name]!r}")
