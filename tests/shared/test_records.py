from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.records import ALL_FIELDS, FIELDS, MEL_DTYPES, Record, decode, decode_record, encode

int64s = st.integers(min_value=0, max_value=(1 << 63) - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def mels(dtype: str) -> st.SearchStrategy[np.ndarray]:
    shapes = st.tuples(st.integers(0, 5), st.integers(1, 4))
    return hnp.arrays(MEL_DTYPES[dtype], shapes, elements=st.floats(-20, 20, width=16))


records = st.builds(
    Record,
    utterance_id=texts,
    frames=st.integers(0, 9999),
    mel=st.sampled_from(sorted(MEL_DTYPES)).flatmap(mels),
    tokens=st.lists(int64s, min_size=1, max_size=20).map(tuple),
    language=int64s,
    speaker=int64s,
    text=texts,
    energy=st.none() | hnp.arrays(np.dtype("<f4"), st.integers(0, 9)),
    pitch_hz=st.none() | hnp.arrays(np.dtype("<f4"), st.integers(0, 9)),
    waveform=st.none() | hnp.arrays(np.dtype("<i2"), st.integers(0, 9)),
)

RECORD = Record(
    utterance_id="lj/LJ001-0001",
    frames=4,
    mel=np.arange(12, dtype="<f2").reshape(4, 3),
    tokens=(256047, 70, 7356, 2),
    language=256047,
    speaker=(1 << 63) - 1,
    text="A test — «§» 试 کتاب‌ها",
)


def values_of(record: Record) -> dict[str, list[bytes] | list[int]]:
    optional = {name: getattr(record, name) for name in ("energy", "pitch_hz", "waveform")}
    return {name: [values.tobytes()] for name, values in optional.items() if values is not None} | {
        "frames": [record.frames],
        "language": [record.language],
        "mel": [record.mel.tobytes()],
        "speaker": [record.speaker],
        "text": [record.text.encode()],
        "tokens": list(record.tokens),
        "utterance_id": [record.utterance_id.encode()],
    }


def example_of(record: Record, *, tf: Any) -> Any:
    """The record as TensorFlow's own message."""

    def feature(values: list[Any]) -> Any:
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {name: feature(values) for name, values in values_of(record).items()}
    return tf.train.Example(features=tf.train.Features(feature=features))


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


@given(record=records)
def test_bytes_equal_protobufs_deterministic_serialisation(tf: Any, record: Record) -> None:
    assert encode(record) == example_of(record, tf=tf).SerializeToString(deterministic=True)


@given(record=records)
def test_decode_gives_back_what_was_encoded(record: Record) -> None:
    assert decode(encode(record)) == values_of(record)


@given(record=records)
def test_decode_reads_what_protobuf_wrote_in_any_order(tf: Any, record: Record) -> None:
    assert decode(example_of(record, tf=tf).SerializeToString()) == values_of(record)


def test_tensorflow_parses_every_field(tf: Any) -> None:
    kinds = {"bytes": tf.io.FixedLenFeature([], tf.string), "int64": tf.io.FixedLenFeature([], tf.int64)}
    features = {field.name: kinds.get(field.kind, tf.io.VarLenFeature(tf.int64)) for field in FIELDS}
    parsed = tf.io.parse_single_example(encode(RECORD), features)
    mel = tf.bitcast(tf.io.decode_raw(parsed["mel"], tf.int16), tf.float16)
    np.testing.assert_array_equal(tf.reshape(mel, [int(parsed["frames"]), -1]).numpy(), RECORD.mel)
    assert tuple(tf.sparse.to_dense(parsed["tokens"]).numpy()) == RECORD.tokens
    assert parsed["text"].numpy().decode() == RECORD.text
    assert parsed["utterance_id"].numpy().decode() == RECORD.utterance_id
    assert (int(parsed["language"]), int(parsed["speaker"])) == (RECORD.language, RECORD.speaker)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_value_error(data: bytes) -> None:
    try:
        decode(data)
    except ValueError:
        return


@given(st.integers(0, len(encode(RECORD)) - 1), st.integers(1, 255))
def test_a_damaged_record_raises_nothing_but_value_error(position: int, flip: int) -> None:
    data = bytearray(encode(RECORD))
    data[position] ^= flip
    try:
        decode(bytes(data))
    except ValueError:
        return


def test_a_truncated_record_is_never_decoded_as_a_whole_one() -> None:
    whole = encode(RECORD)
    for length in range(1, len(whole)):
        with pytest.raises(ValueError):  # noqa: PT011 - the message depends on where the cut fell
            decode(whole[:length])


def test_a_repeated_feature_is_refused() -> None:
    body = encode(RECORD)
    # Both halves are Examples; protobuf's rule for a message in two halves is to merge them.
    with pytest.raises(ValueError, match="occurs twice"):
        decode(body + body)


def test_a_float_list_is_refused(tf: Any) -> None:
    floats = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))
    example = tf.train.Example(features=tf.train.Features(feature={"mel": floats}))
    with pytest.raises(ValueError, match="neither a bytes nor an int64 list"):
        decode(example.SerializeToString())


def test_unpacked_integers_are_read_as_other_writers_may_store_them() -> None:
    feature = b"\x1a\x04" + b"\x08\x05\x08\x07"
    entry = b"\x0a\x01n" + b"\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    assert decode(b"\x0a" + bytes([len(features)]) + features) == {"n": [5, 7]}


def test_a_big_endian_mel_is_stored_little_endian() -> None:
    mel = np.array([[1.5, -2.25]])
    stored = [decode(encode(dataclasses.replace(RECORD, mel=mel.astype(kind)))) for kind in (">f2", "<f2")]
    assert stored[0] == stored[1]


def test_fields_are_in_the_order_of_their_names() -> None:
    names = [field.name for field in ALL_FIELDS]
    assert names == sorted(set(names))
    assert set(FIELDS) < set(ALL_FIELDS)


@pytest.mark.parametrize("name", ["energy", "pitch_hz"])
def test_values_of_frames_are_read_again_and_must_be_as_many_as_the_frames(name: str) -> None:
    fields = [field for field in ALL_FIELDS if field in FIELDS or field.name == name]
    values = np.array([0.0, 1.5, 220.0, 3.25], "<f4")
    payload = encode(dataclasses.replace(RECORD, **{name: values}))
    read = decode_record(payload, mel_dtype="float16", n_mels=3, fields=fields)
    np.testing.assert_array_equal(getattr(read, name), values)
    short = encode(dataclasses.replace(RECORD, **{name: values[:3]}))
    with pytest.raises(ValueError, match=f"3 values of {name} in a record of 4 frames"):
        decode_record(short, mel_dtype="float16", n_mels=3, fields=fields)
    with pytest.raises(ValueError, match=f"a record without {name}"):
        decode_record(encode(RECORD), mel_dtype="float16", n_mels=3, fields=fields)
