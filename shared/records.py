"""Records: one utterance as a serialised `tf.train.Example`, encoded and decoded by one table of fields.

The table defines the encoder here, the trainer's parser, the validator's checks and the table in the documentation.
Encoding and decoding are written without TensorFlow because a Beam worker must not import it (20 s from cold); the
tests compare them with TensorFlow's own serialiser and parser.

    Example  { 1: Features }            protobuf field numbers, tensorflow/core/example/*.proto
    Features { 1: {1: name, 2: Feature} repeated }
    Feature  { 1: BytesList | 3: Int64List }      each list { 1: values }
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

MAX_VARINT_BYTES = 10  # length of a 64-bit integer

# The types of stored mels by the build's setting `mel_dtype`. Without mels a record holds their moments: the mean, the
# standard deviation and the drift of each band. The drift is the mean of value times time, with time from -1 to 1.
NO_MEL = "none"
MEL_DTYPES: dict[str, np.dtype] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4"), NO_MEL: np.dtype("<f4")}
NUM_MOMENTS = 3

# The types of stored waveforms by the build's setting `waveform_dtype`; an int16 is a 32768th of full scale.
NO_WAVEFORM: Literal["none"] = "none"
WAVEFORM_DTYPES: dict[str, np.dtype] = {"int16": np.dtype("<i2")}
PCM_FULL_SCALE = 32768

# Values of each frame, for models that predict them, by the build's settings `pitch` and `energy`.
PitchMethod = Literal["none", "dio", "harvest"]
NO_PITCH: Literal["none"] = "none"
FRAME_VALUE_DTYPE = np.dtype("<f4")


class Field(NamedTuple):
    """One field of a record."""

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
# only in the records of datasets that store them
ENERGY = Field(
    "energy", "bytes", "[F]", "magnitude", "Euclidean norm of each frame's magnitudes, float32, little-endian"
)
PITCH = Field(
    "pitch_hz", "bytes", "[F]", "Hz", "fundamental frequency, float32, little-endian; 0 in frames without voice"
)
WAVEFORM = Field(
    "waveform", "bytes", "[S]", "full scale / 32768", "processed samples at the mel's rate, int16, little-endian"
)
FRAME_VALUES = (ENERGY, PITCH)
ALL_FIELDS = tuple(sorted((*FIELDS, *FRAME_VALUES, WAVEFORM)))  # by name
KINDS = {field.name: field.kind for field in ALL_FIELDS}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One utterance as the trainer needs it."""

    utterance_id: str
    frames: int
    mel: np.ndarray  # [F, M] in the dataset's mel dtype; moments [3, M] if the dataset stores no mels
    tokens: tuple[int, ...]  # [T]
    language: int
    speaker: int
    text: str
    # None: the dataset stores none
    energy: np.ndarray | None = None  # [F] float32
    pitch_hz: np.ndarray | None = None  # [F] float32, 0 in frames without voice
    waveform: np.ndarray | None = None  # [S] int16


def stored_fields(*, waveform_dtype: str, pitch: str, energy: bool) -> tuple[Field, ...]:
    """The fields of a record, in the order in which they are stored."""
    absent = {WAVEFORM: waveform_dtype == NO_WAVEFORM, PITCH: pitch == NO_PITCH, ENERGY: not energy}
    return tuple(field for field in ALL_FIELDS if not absent.get(field, False))


def mel_rows(frames: int, *, mel_dtype: str) -> int:
    """The number of rows of M values in a record's `mel`."""
    return NUM_MOMENTS if mel_dtype == NO_MEL else frames


def encode(record: Record) -> bytes:
    """Serialise a record as a `tf.train.Example`, with the fields in the order of their names.

    The bytes equal protobuf's deterministic serialisation.
    """
    fields = [field for field in ALL_FIELDS if getattr(record, field.name) is not None]
    return _delimited(1, b"".join(_feature(field, _value(record, field.name)) for field in fields))


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
    """The bytes before a feature's value: the lengths of the messages around it, its name and its kind."""
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
    """Encode an unsigned integer, seven bits a byte, lowest first; a set high bit means that more bytes follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(payload: bytes) -> dict[str, list[bytes] | list[int]]:
    """Parse a serialised `tf.train.Example`: feature name -> values.

    Raises:
        ValueError: the bytes are not such a message.
    """
    return {name: feature_values(feature) for name, feature in encoded_features(payload).items()}


def decode_record(payload: bytes, *, mel_dtype: str, n_mels: int, fields: Sequence[Field] = FIELDS) -> Record:
    """Parse a record of a dataset whose contract has this type of mels, number of bands, and these fields.

    Raises:
        ValueError: the bytes are no record, or an array has another size than its frames ask for.
    """
    features: dict[str, list] = dict(decode(payload))
    if missing := sorted(field.name for field in fields if not features.get(field.name)):
        raise ValueError(f"a record without {', '.join(missing)}")
    for field in fields:
        if any(isinstance(value, bytes) != (field.kind == "bytes") for value in features[field.name]):
            raise ValueError(f"{field.name} of a record: expected {field.kind}")
    values = {field.name: features[field.name][0] for field in fields}
    optional = {
        one.name: _array(values[one.name], field=one, frames=values["frames"]) for one in fields if one in _ARRAYS
    }
    mel = np.frombuffer(values["mel"], MEL_DTYPES[mel_dtype])
    if mel.size != mel_rows(values["frames"], mel_dtype=mel_dtype) * n_mels:
        raise ValueError(f"a mel of {mel.size} values in a record of {values['frames']} frames with {n_mels} bands")
    return Record(
        utterance_id=values["utterance_id"].decode(),
        frames=values["frames"],
        mel=mel.reshape(-1, n_mels),
        tokens=tuple(features["tokens"]),
        language=values["language"],
        speaker=values["speaker"],
        text=values["text"].decode(),
        **optional,
    )


_ARRAYS = {ENERGY: FRAME_VALUE_DTYPE, PITCH: FRAME_VALUE_DTYPE, WAVEFORM: WAVEFORM_DTYPES["int16"]}


def _array(data: bytes, *, field: Field, frames: int) -> np.ndarray:
    """The values of an optional field; raises ValueError if they are not whole, or not one for each frame."""
    values = np.frombuffer(data, _ARRAYS[field])
    if field in FRAME_VALUES and len(values) != frames:
        raise ValueError(f"{len(values)} values of {field.name} in a record of {frames} frames")
    return values


def encoded_features(payload: bytes) -> dict[str, memoryview]:
    """The features of a serialised `tf.train.Example` by name, each still encoded; nothing is copied.

    Raises:
        ValueError: the bytes are not such a message.
    """
    features: dict[str, memoryview] = {}
    for body in _messages(memoryview(payload), number=1):
        for entry in _messages(body, number=1):
            name, feature = _entry(entry)
            if name in features:
                raise ValueError(f"feature {name!r} occurs twice")
            features[name] = feature
    return features


def _entry(entry: memoryview) -> tuple[str, memoryview]:
    parts = dict(_parts(entry))
    name, feature = parts.get(1), parts.get(2)
    if not isinstance(name, memoryview) or not isinstance(feature, memoryview):
        raise ValueError("a feature without name or value")
    return str(name, "utf-8"), feature


def feature_values(feature: memoryview) -> list[bytes] | list[int]:
    """Decode one feature.

    Raises:
        ValueError: it holds neither bytes nor integers.
    """
    ((kind, body),) = list(_parts(feature)) or [(0, 0)]
    if kind not in (1, 3) or not isinstance(body, memoryview):
        raise ValueError("a feature that is neither a bytes nor an int64 list")
    values = [value for number, value in _parts(body) if number == 1]
    if kind == 1:
        return [bytes(value) for value in values if isinstance(value, memoryview)]
    # packed integers, or single ones: protobuf readers accept both
    return [
        number for value in values for number in ([value] if isinstance(value, int) else decode_varints(value).tolist())
    ]


def decode_varints(packed: bytes | memoryview) -> np.ndarray:
    """Decode consecutive varints, [N] uint64.

    Raises:
        ValueError: the bytes are not varints.
    """
    if not packed:
        return np.zeros(0, np.uint64)
    data = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if data[-1] >= 0x80 or lengths.max() > MAX_VARINT_BYTES:
        raise ValueError("a broken protobuf varint")
    position = np.arange(len(data)) - np.repeat(starts, lengths)
    return np.add.reduceat((data & 0x7F).astype(np.uint64) << (7 * position).astype(np.uint64), starts)


def _messages(payload: memoryview, *, number: int) -> Iterator[memoryview]:
    for found, value in _parts(payload):
        if found != number or not isinstance(value, memoryview):
            raise ValueError(f"protobuf field {found}; expected {number}")
        yield value


def _parts(payload: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """The fields of one protobuf message: (number, varint or view of the bytes)."""
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


def _read_varint(payload: memoryview, position: int) -> tuple[int, int]:
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
