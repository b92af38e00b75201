"""The record: one utterance as a `tf.train.Example`, by one table of fields.

The table makes the encoder here, the parse of the trainer, the check of the validator and the table in the
README. Encoding and decoding are written out in full because a Beam worker must not import TensorFlow (20 s
from cold); the tests hold them against TensorFlow's own serialiser and parser.

    Example  { 1: Features }            protobuf field numbers, tensorflow/core/example/*.proto
    Features { 1: {1: name, 2: Feature} repeated }
    Feature  { 1: BytesList | 3: Int64List }      each list { 1: values }
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

MAX_VARINT_BYTES = 10  # of a 64-bit integer

# By what the build was asked for. Without mels a record holds their moments: of each band the mean, the standard
# deviation and the drift, which is the mean of value times time, where time runs from -1 to 1.
NO_MEL = "none"
MEL_DTYPES: dict[str, np.dtype] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4"), NO_MEL: np.dtype("<f4")}
NUM_MOMENTS = 3


class Field(NamedTuple):
    name: str
    kind: str  # "bytes", "int64" or "int64 list"
    shape: str
    unit: str
    meaning: str


FIELDS = (
    Field("frames", "int64", "[]", "frames", "F, the length of the mel"),
    Field("language", "int64", "[]", "NLLB id", "FLORES-200 language, 256001 to 256202"),
    Field(
        "mel", "bytes", "[F, M]", "ln magnitude", "log-mel, float16 or float32, little-endian; or its moments [3, M]"
    ),
    Field("speaker", "int64", "[]", "stable hash", "63 bits of the speaker's name; dataset.json has the names"),
    Field("text", "bytes", "[]", "UTF-8", "the prepared text that the tokens were made from"),
    Field("tokens", "int64 list", "[T]", "NLLB ids", "[language] pieces </s>"),
    Field("utterance_id", "bytes", "[]", "UTF-8", "source/id, unique in the dataset"),
)
KINDS = {field.name: field.kind for field in FIELDS}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What the trainer needs to know of one utterance."""

    utterance_id: str
    frames: int
    mel: np.ndarray  # [F, M] in the dataset's mel dtype; [3, M] where it stores none
    tokens: tuple[int, ...]  # [T]
    language: int
    speaker: int
    text: str


def mel_rows(frames: int, *, mel_dtype: str) -> int:
    """How many rows of M values a record's `mel` has."""
    return NUM_MOMENTS if mel_dtype == NO_MEL else frames


def encode(record: Record) -> bytes:
    """The record as a serialised `tf.train.Example`, fields in the order of their names.

    The bytes equal those of protobuf's deterministic serialisation.
    """
    return _delimited(1, b"".join(_feature(field, _value(record, field.name)) for field in FIELDS))


def _value(record: Record, name: str) -> bytes | int | tuple[int, ...]:
    value = getattr(record, name)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.ndarray):
        return value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return value


def _feature(field: Field, value: bytes | int | tuple[int, ...]) -> bytes:
    if not isinstance(value, bytes):
        value = b"".join(map(encode_varint, (value,) if isinstance(value, int) else value))
    return field_header(field.name, value_bytes=len(value)) + value


@functools.lru_cache(1 << 14)
def field_header(name: str, *, value_bytes: int) -> bytes:
    """What stands before a feature's value: the lengths of all that it is wrapped in, its name and its kind."""
    kind = 1 if KINDS[name] == "bytes" else 3
    listed = _delimiter(1, value_bytes)
    feature = _delimiter(kind, len(listed) + value_bytes) + listed
    entry = _delimited(1, name.encode()) + _delimiter(2, len(feature) + value_bytes) + feature
    return _delimiter(1, len(entry) + value_bytes) + entry


def _delimited(number: int, payload: bytes) -> bytes:
    return _delimiter(number, len(payload)) + payload


def _delimiter(number: int, payload_bytes: int) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(payload_bytes)


def encode_varint(value: int) -> bytes:
    """An unsigned integer, seven bits a byte, the lowest first; a high bit says that more follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(payload: bytes) -> dict[str, list[bytes] | list[int]]:
    """The features of a serialised `tf.train.Example` by name.

    Raises:
        ValueError: the bytes are no such message.
    """
    features: dict[str, list[bytes] | list[int]] = {}
    for body in _messages(payload, number=1):
        for entry in _messages(body, number=1):
            name, feature = _entry(entry)
            if name in features:
                raise ValueError(f"feature {name!r} stands twice")
            features[name] = _feature_values(feature)
    return features


def _entry(entry: bytes) -> tuple[str, bytes]:
    parts = dict(_parts(entry))
    name, feature = parts.get(1), parts.get(2)
    if not isinstance(name, bytes) or not isinstance(feature, bytes):
        raise ValueError("a feature without name or value")
    return name.decode(), feature


def _feature_values(feature: bytes) -> list[bytes] | list[int]:
    ((kind, body),) = list(_parts(feature)) or [(0, 0)]
    if kind not in (1, 3) or not isinstance(body, bytes):
        raise ValueError("a feature that is neither a bytes nor an int64 list")
    values = [value for number, value in _parts(body) if number == 1]
    if kind == 1:
        return [value for value in values if isinstance(value, bytes)]
    # packed integers, or single ones: protobuf readers accept both
    return [
        number for value in values for number in ([value] if isinstance(value, int) else decode_varints(value).tolist())
    ]


def decode_varints(packed: bytes) -> np.ndarray:
    """Varints one behind another, as uint64.

    Raises:
        ValueError: they are none.
    """
    if not packed:
        return np.zeros(0, np.uint64)
    data = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if data[-1] >= 0x80 or lengths.max() > MAX_VARINT_BYTES:
        raise ValueError("a broken protobuf varint")
    place = np.arange(len(data)) - np.repeat(starts, lengths)
    return np.add.reduceat((data & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64), starts)


def _messages(payload: bytes, *, number: int) -> Iterator[bytes]:
    for found, value in _parts(payload):
        if found != number or not isinstance(value, bytes):
            raise ValueError(f"protobuf field {found} where {number} was wanted")
        yield value


def _parts(payload: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of one protobuf message: number and either a varint or bytes."""
    position = 0
    while position < len(payload):
        tag, position = _read_varint(payload, position)
        value, position = _read_varint(payload, position)
        if tag & 7 == 0:
            yield tag >> 3, value
        elif tag & 7 == 2:
            if position + value > len(payload):
                raise ValueError("a protobuf field longer than its message")
            yield tag >> 3, payload[position : position + value]
            position += value
        else:
            raise ValueError(f"protobuf wire type {tag & 7}")


def _read_varint(payload: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * MAX_VARINT_BYTES, 7):
        if position >= len(payload):
            break
        byte = payload[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
    raise ValueError("a broken protobuf varint")
