"""Reads one file of records once, computes its sha256, and checks each record against its manifest row."""

from __future__ import annotations

import collections
import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from pipelines.execution.progress_counter import ProgressCounter
from pipelines.validation.expected_bytes import FrameTemplates
from pipelines.validation.findings import ShardSums
from pipelines.validation.hashing_reader import HashingReader
from pipelines.validation.manifest_rows import ManifestRow
from pipelines.validation.mel_sums import mel_sums_for
from pipelines.validation.record_checks import (
    ParsedRecord,
    RecordError,
    are_in_order,
    check_order,
    check_row,
    check_tokens,
    mel_range,
    parse_record,
)
from shared.dataset import Contract
from shared.hashing import stable_hash
from shared.languages import FIRST_ID, language_id
from shared.layout import ShardName
from shared.records import decode_varints
from shared.storage_path import StoragePath
from shared.tfrecord import FOOTER_BYTES, HEADER_BYTES, CorruptTFRecord, check_body, checksum, payload_length
from shared.vocabulary import END_ID, SPECIAL_IDS, UNKNOWN_ID

KEY_BYTES = 16


class InvalidRecord(NamedTuple):
    """A record that violates a check."""

    record: int  # index in the file
    utterance_id: str | None
    error: RecordError


class RecordInspector:
    """Checks every record of a file, a shard's or that of the records withheld from it."""

    def __init__(
        self, *, shard_name: ShardName, rows: list[ManifestRow] | None, contract: Contract, speakers: Mapping[str, int]
    ):
        """`rows` is None if there is no readable manifest."""
        self._shard_name, self._rows, self._contract = shard_name, rows, contract
        self._speakers = speakers
        self._templates = FrameTemplates(contract=contract, speakers=speakers)
        low, high = mel_range(contract)
        self._mel_sums = mel_sums_for(contract, low=low, high=high)
        self._ids: list[tuple[int, str]] = []  # index and id of each record with an id
        self._packed_tokens: list[bytes] = []  # of the records that matched their rows
        self._packed_rows: list[int] = []
        self._invalid: list[InvalidRecord] = []
        self._valid: list[ManifestRow | ParsedRecord] = []
        self.tokens = 0  # of valid records
        self.sha256 = ""
        self.keys = bytearray()  # hash of each id, `KEY_BYTES` each, in the order of the file

    @functools.cached_property
    def _names(self) -> dict[int, str]:
        """Speaker names by id, needed only for records that do not match their rows."""
        return {number: name for name, number in self._speakers.items()}

    def inspect(self, path: StoragePath, *, counter: ProgressCounter) -> list[InvalidRecord]:
        """Check the file; the invalid records, by index.

        Raises:
            OSError: the file cannot be read to its end.
        """
        with _unbuffered(path) as file:
            reader, size_bytes = HashingReader(file), _size(file)
            index, offset = 0, 0
            while offset < size_bytes:
                offset = self._inspect_record(reader, index=index, offset_bytes=offset, size_bytes=size_bytes)
                index += 1
                counter.add()
            self.sha256 = reader.sha256()
        self._check_order()
        self._check_tokens()
        return sorted(self._invalid, key=lambda invalid: invalid.record)

    def totals(self) -> ShardSums:
        """Totals over the valid records."""
        return ShardSums(
            records=len(self._valid),
            frames=sum(one.frames for one in self._valid),
            records_by_language=_counted(one.language for one in self._valid),
            records_by_speaker=_counted(one.speaker for one in self._valid),
            mel_sums=self._mel_sums.sums.tolist(),
            mel_squares=self._mel_sums.squares.tolist(),
        )

    def valid_ids(self) -> set[str]:
        """The ids of the valid records."""
        return {one.utterance_id for one in self._valid}

    def _row(self, index: int) -> ManifestRow | None:
        return self._rows[index] if self._rows is not None and index < len(self._rows) else None

    def _inspect_record(self, reader: HashingReader, *, index: int, offset_bytes: int, size_bytes: int) -> int:
        """Check the record at an offset; the offset of the next record, or the size of the file."""
        row = self._row(index)
        if row is not None and row.offset_bytes == offset_bytes and self._matches_row(reader, row=row):
            self._valid.append(row)
            self._packed_rows.append(index)
            self._ids.append((index, row.utterance_id))
            return offset_bytes + row.length_bytes
        following = 0
        try:
            length = payload_length(
                reader.view(offset_bytes, HEADER_BYTES).tobytes(), index=index, offset_bytes=offset_bytes
            )
            following = offset_bytes + HEADER_BYTES + length + FOOTER_BYTES
            if following > size_bytes:
                raise CorruptTFRecord("the file ends within the record", index=index, offset_bytes=offset_bytes)
            body = reader.view(offset_bytes + HEADER_BYTES, length + FOOTER_BYTES)
            check_body(body, length_bytes=length, index=index, offset_bytes=offset_bytes)
            self._parse(body[:length], index=index, offset_bytes=offset_bytes)
        except CorruptTFRecord as error:
            invalid = RecordError("framing", f"{error.reason} (at byte {offset_bytes})")
            self._invalid.append(InvalidRecord(index, row and row.utterance_id, invalid))
            if not following and (ahead := self._row(index + 1)) is not None:
                following = ahead.offset_bytes  # the length is damaged: the manifest has the next offset
        return following if offset_bytes < following < size_bytes else size_bytes

    def _matches_row(self, reader: HashingReader, *, row: ManifestRow) -> bool:
        """True if the record has the bytes expected from its row; then its mel is summed and its tokens are kept."""
        template = self._templates.of(row)
        if template is None:
            return False
        head, mel_end, middle, tokens_end, tail = template
        frame = reader.view(row.offset_bytes, row.length_bytes)
        tokens_start, end = mel_end + len(middle), tokens_end + len(tail)
        if (
            len(frame) != row.length_bytes
            or frame[: len(head)].tobytes() != head
            or frame[mel_end:tokens_start].tobytes() != middle
            or frame[tokens_end:end].tobytes() != tail
            or frame[end:].tobytes() != checksum(frame[HEADER_BYTES:end])
            or not self._mel_sums.add(frame[len(head) : mel_end], frames=row.frames)
        ):
            return False
        self._packed_tokens.append(frame[tokens_start:tokens_end].tobytes())
        return True

    def _parse(self, payload: np.ndarray, *, index: int, offset_bytes: int) -> None:
        """Check a record that does not match its row."""
        row = self._row(index)
        name = row.utterance_id if row is not None else None
        try:
            record = parse_record(payload.tobytes(), contract=self._contract, speakers=self._names)
            name = record.utterance_id
            self._valid.append(record._replace(mel=None))
            assert record.mel is not None
            self.tokens += record.tokens
            self._mel_sums.add(record.mel, frames=record.frames)
            self._ids.append((index, name))
            if self._rows is not None:
                length = HEADER_BYTES + len(payload) + FOOTER_BYTES
                check_row(row, record=record, offset_bytes=offset_bytes, length_bytes=length)
        except RecordError as error:
            self._invalid.append(InvalidRecord(index, name, error))

    def _check_order(self) -> None:
        """Check that the records are sorted by their ids' hashes, and belong to this shard."""
        names = [name for _, name in self._ids]
        keys = [stable_hash(name, purpose="order") for name in names]
        self.keys += b"".join(order.to_bytes(KEY_BYTES, "big") for order in keys)
        if are_in_order(names, shard_name=self._shard_name, keys=keys):
            return
        previous, invalid_by_index = (-1, ""), {invalid.record: invalid for invalid in self._invalid}
        for (index, name), order in zip(self._ids, keys, strict=True):
            try:
                check_order(name, shard_name=self._shard_name, key=order, previous=previous)
            except RecordError as error:  # more specific than a difference from the row
                invalid_by_index[index] = InvalidRecord(index, name, error)
            previous = (order, name)
        self._invalid = list(invalid_by_index.values())

    def _check_tokens(self) -> None:
        """Check the tokens of all records that matched their rows at once, then the wrong ones individually."""
        rows = [row for index in self._packed_rows if (row := self._row(index)) is not None]
        for number in _wrong_tokens(self._packed_tokens, rows=rows):
            row, index = rows[number], self._packed_rows[number]
            try:
                _check_packed_tokens(self._packed_tokens[number], row=row)
            except RecordError as error:
                self._invalid.append(InvalidRecord(index, row.utterance_id, error))
        # the last byte of a varint is below 0x80
        self.tokens += int(np.count_nonzero(np.frombuffer(b"".join(self._packed_tokens), np.uint8) < 0x80))
        self._packed_tokens.clear()


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(collections.Counter(names).items()))


def _size(file: BinaryIO) -> int:
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size_bytes


def _unbuffered(path: StoragePath) -> BinaryIO:
    return path.open("rb", buffering=0) if isinstance(path, Path) else path.open("rb")


def _wrong_tokens(packed_tokens: list[bytes], *, rows: list[ManifestRow]) -> list[int]:
    """Indices of packed tokens that are not `[language] pieces </s>`, or whose count differs from the row."""
    if not packed_tokens or not all(packed and packed[-1] < 0x80 for packed in packed_tokens):
        return list(range(len(packed_tokens)))
    packed = b"".join(packed_tokens)
    try:
        tokens = decode_varints(packed)
    except ValueError:
        return list(range(len(packed_tokens)))
    ends = np.frombuffer(packed, np.uint8) < 0x80
    lengths = np.array([len(packed) for packed in packed_tokens])
    counts = np.add.reduceat(ends.astype(np.int64), np.cumsum(lengths) - lengths)
    starts = np.cumsum(counts) - counts
    is_special = (tokens <= max(SPECIAL_IDS)) & (tokens != UNKNOWN_ID) | (tokens >= FIRST_ID)
    is_valid = (
        (counts == [row.tokens for row in rows])
        & (counts >= 3)
        & (tokens[starts] == [language_id(row.language) for row in rows])
        & (tokens[starts + counts - 1] == END_ID)
        & (np.add.reduceat(is_special.astype(np.int64), starts) == 2)  # the language token and </s>
        & (np.add.reduceat((tokens == UNKNOWN_ID).astype(np.int64), starts) == [row.unknown_tokens for row in rows])
    )
    return np.flatnonzero(~is_valid).tolist()


def _check_packed_tokens(packed: bytes, *, row: ManifestRow) -> None:
    """Raise RecordError if the packed tokens of a record differ from its row."""
    try:
        tokens = decode_varints(packed).tolist()
    except ValueError as error:
        raise RecordError("example", f"not a tf.train.Example: {error}") from error
    check_tokens(tokens, language=language_id(row.language))
    for name, found in (("tokens", len(tokens)), ("unknown_tokens", tokens.count(UNKNOWN_ID))):
        if found != (expected := getattr(row, name)):
            raise RecordError("manifest", f"its {name} is {found}, the manifest has {expected}")
