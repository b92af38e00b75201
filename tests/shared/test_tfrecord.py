from __future__ import annotations

import io
import struct
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.tfrecord import (
    CorruptTFRecord,
    FramedRecord,
    frame_record,
    framed_bytes,
    read_framed_record,
    read_framed_records,
)

PAYLOADS = [b"", b"a", b"mel" * 7, bytes(range(40))]
payload_lists = st.lists(st.binary(max_size=200), max_size=8)


def file_of(payloads: list[bytes]) -> bytes:
    return b"".join(map(frame_record, payloads))


def read_until_damage(data: bytes) -> tuple[list[FramedRecord], CorruptTFRecord | None]:
    found: list[FramedRecord] = []
    try:
        for one in read_framed_records(io.BytesIO(data)):
            found.append(one)  # noqa: PERF402 - what was read before the damage is the point
    except CorruptTFRecord as error:
        return found, error
    return found, None


@given(payload_lists)
def test_what_was_framed_is_read_back_with_its_place(payloads: list[bytes]) -> None:
    data = file_of(payloads)
    found, damage = read_until_damage(data)
    assert damage is None
    assert [one.payload for one in found] == payloads
    assert [one.index for one in found] == list(range(len(payloads)))
    for one in found:
        assert data[one.offset_bytes :].startswith(frame_record(one.payload))
        assert read_framed_record(io.BytesIO(data), index=one.index, offset_bytes=one.offset_bytes) == one


@given(payload_lists)
def test_framed_bytes_add_up_to_the_file(payloads: list[bytes]) -> None:
    assert sum(map(framed_bytes, payloads)) == len(file_of(payloads))


def test_bytes_equal_those_of_tensorflows_writer(tmp_path: Path) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for payload in PAYLOADS:
            writer.write(payload)
    assert file_of(PAYLOADS) == (tmp_path / "theirs").read_bytes()


def test_tensorflows_dataset_reads_ours(tmp_path: Path) -> None:
    import tensorflow as tf

    (tmp_path / "ours").write_bytes(file_of(PAYLOADS))
    assert list(tf.data.TFRecordDataset(str(tmp_path / "ours")).as_numpy_iterator()) == PAYLOADS


def test_every_flipped_byte_is_found_in_its_record() -> None:
    data = file_of(PAYLOADS)
    starts = [sum(map(framed_bytes, PAYLOADS[:index])) for index in range(len(PAYLOADS))]
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            found, damage = read_until_damage(bytes(damaged))
            index = max(index for index, start in enumerate(starts) if start <= position)
            assert damage is not None
            assert (damage.index, damage.offset_bytes) == (index, starts[index])
            assert [one.payload for one in found] == PAYLOADS[:index]


def test_a_truncated_file_is_found_at_every_length() -> None:
    data = file_of(PAYLOADS)
    ends = [sum(map(framed_bytes, PAYLOADS[:count])) for count in range(len(PAYLOADS) + 1)]
    for length in range(len(data)):
        found, damage = read_until_damage(data[:length])
        whole = max(count for count, end in enumerate(ends) if end <= length)
        assert [one.payload for one in found] == PAYLOADS[:whole]
        # An end between two records can only be seen by who knows their number.
        assert (damage is None) == (length in ends)
        assert damage is None or damage.index == whole


def test_a_monstrous_length_with_a_good_checksum_is_refused_before_it_is_read() -> None:
    length = struct.pack("<Q", 1 << 62)
    crc = google_crc32c.value(length)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    with pytest.raises(CorruptTFRecord, match="record 0 at byte 0: a length of 4611686018427387904 bytes"):
        list(read_framed_records(io.BytesIO(length + struct.pack("<I", masked) + b"data")))


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused_but_never_surprise(data: bytes) -> None:
    found, damage = read_until_damage(data)
    assert file_of([one.payload for one in found]) == (data if damage is None else data[: damage.offset_bytes])
