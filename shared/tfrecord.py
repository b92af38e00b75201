"""TFRecord framing: reading and writing the length and the checksums around each record of a shard.

    uint64 length | uint32 masked crc32c of length | payload | uint32 masked crc32c of payload

all little-endian (tensorflow/core/lib/io/record_writer.h).
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c
import numpy as np

HEADER_BYTES = 12
FOOTER_BYTES = 4

# A record is one utterance: 20 s of float32 mels are 0.7 MB. A longer length can only be damage, and must not make a
# reader allocate that much memory.
MAX_PAYLOAD_BYTES = 1 << 28


@dataclasses.dataclass(frozen=True, slots=True)
class FramedRecord:
    """A record and its position in its file."""

    index: int
    offset_bytes: int  # of the frame's header in the file
    payload: bytes


class CorruptTFRecord(ValueError):
    """The framing is damaged from this record on."""

    def __init__(self, reason: str, *, index: int, offset_bytes: int):
        super().__init__(f"record {index} at byte {offset_bytes}: {reason}")
        self.reason, self.index, self.offset_bytes = reason, index, offset_bytes


def frame_record(payload: bytes) -> bytes:
    """The payload with its length and checksums, as a TFRecord file stores it."""
    return b"".join((record_header(len(payload)), payload, checksum(payload)))


def record_header(payload_bytes: int) -> bytes:
    """The bytes before a payload of this size: its length and the length's checksum."""
    length = struct.pack("<Q", payload_bytes)
    return length + checksum(length)


def checksum(data: bytes | np.ndarray) -> bytes:
    """The masked crc32c of a length or a payload, 4 bytes."""
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def unframe(framed: bytes) -> bytes:
    """The payload of a framed record; nothing is checked."""
    return framed[HEADER_BYTES:-FOOTER_BYTES]


def check_framed(framed: bytes, *, offset_bytes: int) -> None:
    """Check both checksums of a framed record.

    Raises:
        CorruptTFRecord: the length or the payload fails its checksum, or the bytes are not exactly one record.
    """
    length = payload_length(framed[:HEADER_BYTES], index=0, offset_bytes=offset_bytes)
    body = np.frombuffer(framed, np.uint8)[HEADER_BYTES:]  # a view
    check_body(body, length_bytes=length, index=0, offset_bytes=offset_bytes)


def read_framed_records(file: BinaryIO) -> Iterator[FramedRecord]:
    """Read and check every record of an open file from its start.

    Raises:
        CorruptTFRecord: a length or payload fails its checksum, or the file ends within a record.
    """
    index, offset = 0, 0
    while (found := read_framed_record(file, index=index, offset_bytes=offset)) is not None:
        yield found
        index, offset = index + 1, offset + framed_bytes(found.payload)


def framed_bytes(payload: bytes) -> int:
    """The size of a record with its frame."""
    return HEADER_BYTES + len(payload) + FOOTER_BYTES


def read_framed_record(file: BinaryIO, *, index: int, offset_bytes: int) -> FramedRecord | None:
    """Read and check the record at an offset; None at the end of the file.

    Raises:
        CorruptTFRecord: the length or the payload fails its checksum, or the file ends within the record.
    """
    file.seek(offset_bytes)
    header = file.read(HEADER_BYTES)
    if not header:
        return None
    length = payload_length(header, index=index, offset_bytes=offset_bytes)
    body = file.read(length + FOOTER_BYTES)
    check_body(body, length_bytes=length, index=index, offset_bytes=offset_bytes)
    return FramedRecord(index, offset_bytes, body[:length])


def check_body(body: bytes | np.ndarray, *, length_bytes: int, index: int, offset_bytes: int) -> None:
    """Raise CorruptTFRecord unless the bytes after a header are a payload of that length and its checksum."""
    if len(body) != length_bytes + FOOTER_BYTES:
        raise CorruptTFRecord("the file ends within the record", index=index, offset_bytes=offset_bytes)
    if bytes(body[length_bytes:]) != checksum(body[:length_bytes]):
        raise CorruptTFRecord("the data fails its checksum", index=index, offset_bytes=offset_bytes)


def payload_length(header: bytes, *, index: int, offset_bytes: int) -> int:
    """The payload's length from a header.

    Raises:
        CorruptTFRecord: the header fails its checksum, is cut off, or states a length that no record has.
    """
    if len(header) != HEADER_BYTES:
        raise CorruptTFRecord("the file ends within a header", index=index, offset_bytes=offset_bytes)
    if header[8:] != checksum(header[:8]):
        raise CorruptTFRecord("the length fails its checksum", index=index, offset_bytes=offset_bytes)
    (length,) = struct.unpack("<Q", header[:8])
    if length > MAX_PAYLOAD_BYTES:
        raise CorruptTFRecord(f"a length of {length} bytes", index=index, offset_bytes=offset_bytes)
    return length
