"""One file of records under inspection: read once, hashed, and each record held against its row of the manifest."""

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
    check_place,
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
    """A record that is not as it should be."""

    record: int  # its index
    utterance_id: str | None
    error: RecordError


class ShardReader:
    """The records of one shard, or those that were withheld from it."""

    def __init__(
        self, *, stem: ShardName, rows: list[ManifestRow] | None, contract: Contract, speakers: Mapping[str, int]
    ):
        """`rows` is None where there is no manifest to hold the records against."""
        self._stem, self._rows, self._contract = stem, rows, contract
        self._speakers = speakers
        self._outlines = FrameTemplates(contract=contract, speakers=speakers)
        low, high = mel_range(contract)
        self._bands = mel_sums_for(contract, low=low, high=high)
        self._placed: list[tuple[int, str]] = []  # index and id of each record that has an id
        self._pieces: list[bytes] = []  # packed tokens of the records that were told by their outline
        self._piece_rows: list[int] = []
        self._faults: list[InvalidRecord] = []
        self._sound: list[ManifestRow | ParsedRecord] = []
        self.tokens = 0  # of sound records
        self.sha256 = ""
        self.keys = bytearray()  # `KEY_BYTES` of the hash of each of these ids, in the order of the file

    @functools.cached_property
    def _names(self) -> dict[int, str]:
        """Of speakers by id, which only records are asked for that are not told by their rows."""
        return {number: name for name, number in self._speakers.items()}

    def inspect(self, path: StoragePath, *, counter: ProgressCounter) -> list[InvalidRecord]:
        """Every fault, by index.

        Raises:
            OSError: the file cannot be read to its end.
        """
        with _unbuffered(path) as file:
            window, size_bytes = HashingReader(file), _size(file)
            index, offset = 0, 0
            while offset < size_bytes:
                offset = self._inspect_frame(window, index=index, offset_bytes=offset, size_bytes=size_bytes)
                index += 1
                counter.add()
            self.sha256 = window.sha256()
        self._inspect_places()
        self._inspect_tokens()
        return sorted(self._faults, key=lambda fault: fault.record)

    def sums(self) -> ShardSums:
        """What the sound records add up to."""
        return ShardSums(
            records=len(self._sound),
            frames=sum(one.frames for one in self._sound),
            records_by_language=_counted(one.language for one in self._sound),
            records_by_speaker=_counted(one.speaker for one in self._sound),
            mel_sums=self._bands.sums.tolist(),
            mel_squares=self._bands.squares.tolist(),
        )

    def present(self) -> set[str]:
        """The ids of the sound records."""
        return {one.utterance_id for one in self._sound}

    def _row(self, index: int) -> ManifestRow | None:
        return self._rows[index] if self._rows is not None and index < len(self._rows) else None

    def _inspect_frame(self, window: HashingReader, *, index: int, offset_bytes: int, size_bytes: int) -> int:
        """Inspect the record here; where the next one is, or the size of the file."""
        row = self._row(index)
        if row is not None and row.offset_bytes == offset_bytes and self._is_as_its_row(window, row=row):
            self._sound.append(row)
            self._piece_rows.append(index)
            self._placed.append((index, row.utterance_id))
            return offset_bytes + row.length_bytes
        following = 0
        try:
            length = payload_length(
                window.view(offset_bytes, HEADER_BYTES).tobytes(), index=index, offset_bytes=offset_bytes
            )
            following = offset_bytes + HEADER_BYTES + length + FOOTER_BYTES
            if following > size_bytes:
                raise CorruptTFRecord("the file ends within the record", index=index, offset_bytes=offset_bytes)
            body = window.view(offset_bytes + HEADER_BYTES, length + FOOTER_BYTES)
            check_body(body, length_bytes=length, index=index, offset_bytes=offset_bytes)
            self._take_apart(body[:length], index=index, offset_bytes=offset_bytes)
        except CorruptTFRecord as error:
            fault = RecordError("framing", f"{error.reason} (at byte {offset_bytes})")
            self._faults.append(InvalidRecord(index, row and row.utterance_id, fault))
            if not following and (ahead := self._row(index + 1)) is not None:
                following = ahead.offset_bytes  # past a broken length the manifest leads on
        return following if offset_bytes < following < size_bytes else size_bytes

    def _is_as_its_row(self, window: HashingReader, *, row: ManifestRow) -> bool:
        """Whether the record is what the encoder makes of its row; its mel is summed then, its tokens put aside."""
        outline = self._outlines.of(row)
        if outline is None:
            return False
        head, mel_end, middle, tokens_end, tail = outline
        frame = window.view(row.offset_bytes, row.length_bytes)
        tokens_start, end = mel_end + len(middle), tokens_end + len(tail)
        if (
            len(frame) != row.length_bytes
            or frame[: len(head)].tobytes() != head
            or frame[mel_end:tokens_start].tobytes() != middle
            or frame[tokens_end:end].tobytes() != tail
            or frame[end:].tobytes() != checksum(frame[HEADER_BYTES:end])
            or not self._bands.add(frame[len(head) : mel_end], frames=row.frames)
        ):
            return False
        self._pieces.append(frame[tokens_start:tokens_end].tobytes())
        return True

    def _take_apart(self, payload: np.ndarray, *, index: int, offset_bytes: int) -> None:
        """A record that is not told by its row."""
        row = self._row(index)
        name = row.utterance_id if row is not None else None
        try:
            facts = parse_record(payload.tobytes(), contract=self._contract, speakers=self._names)
            name = facts.utterance_id
            self._sound.append(facts._replace(mel=None))
            assert facts.mel is not None
            self.tokens += facts.tokens
            self._bands.add(facts.mel, frames=facts.frames)
            self._placed.append((index, name))
            if self._rows is not None:
                length = HEADER_BYTES + len(payload) + FOOTER_BYTES
                check_row(row, facts=facts, offset_bytes=offset_bytes, length_bytes=length)
        except RecordError as error:
            self._faults.append(InvalidRecord(index, name, error))

    def _inspect_places(self) -> None:
        """Whether the records stand in the order of their ids' hashes, and in the shard that those decide."""
        names = [name for _, name in self._placed]
        keys = [stable_hash(name, purpose="order") for name in names]
        self.keys += b"".join(order.to_bytes(KEY_BYTES, "big") for order in keys)
        if are_in_order(names, stem=self._stem, keys=keys):
            return
        previous, told = (-1, ""), {fault.record: fault for fault in self._faults}
        for (index, name), order in zip(self._placed, keys, strict=True):
            try:
                check_place(name, stem=self._stem, key=order, previous=previous)
            except RecordError as error:  # says more than that the record differs from the row of its index
                told[index] = InvalidRecord(index, name, error)
            previous = (order, name)
        self._faults = list(told.values())

    def _inspect_tokens(self) -> None:
        """The tokens of all records that were told by their outline, at once; those of a wrong one alone."""
        rows = [row for index in self._piece_rows if (row := self._row(index)) is not None]
        for number in _wrong_tokens(self._pieces, rows=rows):
            row, index = rows[number], self._piece_rows[number]
            try:
                _check_piece(self._pieces[number], row=row)
            except RecordError as error:
                self._faults.append(InvalidRecord(index, row.utterance_id, error))
        # each ends with a byte below 0x80
        self.tokens += int(np.count_nonzero(np.frombuffer(b"".join(self._pieces), np.uint8) < 0x80))
        self._pieces.clear()


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(collections.Counter(names).items()))


def _size(file: BinaryIO) -> int:
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size_bytes


def _unbuffered(path: StoragePath) -> BinaryIO:
    return path.open("rb", buffering=0) if isinstance(path, Path) else path.open("rb")


def _wrong_tokens(pieces: list[bytes], *, rows: list[ManifestRow]) -> list[int]:
    """The packed tokens that are not `[language] pieces </s>`, or not as many as the row says."""
    if not pieces or not all(piece and piece[-1] < 0x80 for piece in pieces):
        return list(range(len(pieces)))
    packed = b"".join(pieces)
    try:
        tokens = decode_varints(packed)
    except ValueError:
        return list(range(len(pieces)))
    ends = np.frombuffer(packed, np.uint8) < 0x80
    lengths = np.array([len(piece) for piece in pieces])
    counts = np.add.reduceat(ends.astype(np.int64), np.cumsum(lengths) - lengths)
    starts = np.cumsum(counts) - counts
    no_piece = (tokens <= max(SPECIAL_IDS)) & (tokens != UNKNOWN_ID) | (tokens >= FIRST_ID)
    sound = (
        (counts == [row.tokens for row in rows])
        & (counts >= 3)
        & (tokens[starts] == [language_id(row.language) for row in rows])
        & (tokens[starts + counts - 1] == END_ID)
        & (np.add.reduceat(no_piece.astype(np.int64), starts) == 2)  # the language and the end
        & (np.add.reduceat((tokens == UNKNOWN_ID).astype(np.int64), starts) == [row.unknown_tokens for row in rows])
    )
    return np.flatnonzero(~sound).tolist()


def _check_piece(piece: bytes, *, row: ManifestRow) -> None:
    """Raises RecordError where the packed tokens of a record are not what its row says."""
    try:
        tokens = decode_varints(piece).tolist()
    except ValueError as error:
        raise RecordError("example", f"not a tf.train.Example: {error}") from error
    check_tokens(tokens, language=language_id(row.language))
    for name, found in (("tokens", len(tokens)), ("unknown_tokens", tokens.count(UNKNOWN_ID))):
        if found != (expected := getattr(row, name)):
            raise RecordError("manifest", f"its {name} is {found}, the manifest says {expected}")
