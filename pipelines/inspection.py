"""Inspection of one shard: every byte of its files and every claim that is made of them."""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.findings import Finding, ShardVerdict
from pipelines.progress import Tally
from shared.dataset import MANIFEST, REJECTED, Contract, Dataset, ShardInfo, Stem, file_sha256
from shared.languages import FIRST_ID, LAST_ID, language_code
from shared.order import shard_of, sort_key
from shared.records import FIELDS, MEL_DTYPES, decode
from shared.tfrecord import CorruptFrame, Frame, framed_bytes, read_frame
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


class Inspection:
    """One shard under inspection."""

    def __init__(self, shard: ShardInfo, *, dataset: Dataset, tally: Tally):
        self._shard, self._tally = shard, tally
        self._layout, self._contract = dataset.layout, dataset.info.contract
        self._speakers = {speaker.id: name for name, speaker in dataset.info.speakers.items()}
        self._findings: list[Finding] = []
        self._rows: list[dict[str, Any]] = []
        self._facts: list[Facts] = []
        self._mel_sums, self._mel_squares = np.zeros((2, self._contract.features.n_mels), np.float64)

    def claims(self) -> Iterator[tuple[str, str]]:
        """What must stand in one shard or split only, once `verdict` was asked for: (kind, value)."""
        yield from (("utterance_id", facts.utterance_id) for facts in self._facts)
        yield from (("audio", row["audio_sha256"]) for row in self._rows)

    def verdict(self) -> ShardVerdict:
        """Inspect all three files, then the records against the rows."""
        self._check_files()
        rows = self._rows = self._manifest_rows()
        if self._layout.shard(self._shard.name).is_file():
            with self._layout.shard(self._shard.name).open("rb") as file:
                self._check_records(file, rows=rows)
        self._check_sums(rows)
        self._tally.flush()
        return ShardVerdict(
            stem=self._shard.name,
            findings=self._findings,
            records=len(self._facts),
            records_by_language=self._count("language"),
            records_by_speaker=self._count("speaker"),
            mel_sums=self._mel_sums.tolist(),
            mel_squares=self._mel_squares.tolist(),
            frames=sum(facts.frames for facts in self._facts),
        )

    def _check_files(self) -> None:
        """Presence, size and sha256 of the shard and its tables."""
        shard, manifest, rejected = self._layout.parts(self._shard.name)
        if shard.is_file() and shard.stat().st_size != self._shard.bytes:
            self._find(shard, "size", f"{shard.stat().st_size} bytes, wanted {self._shard.bytes}")
        for path, wanted in (
            (shard, self._shard.sha256),
            (manifest, self._shard.manifest_sha256),
            (rejected, self._shard.rejected_sha256),
        ):
            if not path.is_file():
                self._find(path, "missing", "the file is not there")
            elif (found := file_sha256(path)) != wanted:
                self._find(path, "sha256", f"{found}, wanted {wanted}")

    def _manifest_rows(self) -> list[dict[str, Any]]:
        rejected = self._table(self._layout.rejected(self._shard.name), schema=REJECTED)
        if len(rejected) != self._shard.rejected:
            message = f"{len(rejected)} rows, wanted {self._shard.rejected}"
            self._find(self._layout.rejected(self._shard.name), "rows", message)
        return self._table(self._layout.manifest(self._shard.name), schema=MANIFEST)

    def _table(self, path: Any, *, schema: pa.Schema) -> list[dict[str, Any]]:
        if not path.is_file():
            return []
        try:
            table = pq.read_table(path)
            if table.schema.equals(schema):
                return table.to_pylist()
            self._find(path, "parquet", f"columns {table.schema.names}, wanted {schema.names} with their types")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._find(path, "parquet", f"cannot be read: {str(error).splitlines()[0]}")
        return []

    def _check_records(self, file: BinaryIO, *, rows: list[dict[str, Any]]) -> None:
        previous: str | None = None
        for index, found in _frames(file, rows=rows):
            row = rows[index] if index < len(rows) else None
            name = row["utterance_id"] if row else None
            try:
                if isinstance(found, CorruptFrame):
                    raise RecordError("framing", f"{found.reason} (at byte {found.offset_bytes})")
                facts = read_facts(found.payload, contract=self._contract, speakers=self._speakers)
                name = facts.utterance_id
                self._facts.append(facts)
                self._add_mel(facts.mel)
                check_place(facts.utterance_id, stem=Stem.parse(self._shard.name), previous=previous)
                previous = facts.utterance_id
                check_row(row, facts=facts, frame=found, shard=self._shard)
            except RecordError as error:
                path = self._layout.shard(self._shard.name)
                self._find(path, error.check, error.message, index=index, utterance_id=name)
            self._tally.add()

    def _add_mel(self, mel: np.ndarray) -> None:
        self._mel_sums += mel.sum(axis=0)
        self._mel_squares += np.square(mel).sum(axis=0)

    def _check_sums(self, rows: list[dict[str, Any]]) -> None:
        """What dataset.json and the manifest say of the shard as a whole."""
        path = self._layout.shard(self._shard.name)
        for check, found, wanted in (
            ("records", len(self._facts), self._shard.records),
            ("frames", sum(facts.frames for facts in self._facts), self._shard.frames),
            ("tokens", sum(facts.tokens for facts in self._facts), self._shard.tokens),
        ):
            if found != wanted:
                self._find(path, check, f"{found} sound {check}, dataset.json says {wanted}")
        present = {facts.utterance_id for facts in self._facts}
        for row in rows:
            if row["utterance_id"] not in present:
                message = "the manifest has a row for it, but the shard holds no sound record"
                self._find(path, "absent", message, index=row["index"], utterance_id=row["utterance_id"])

    def _find(
        self,
        path: Any,
        check: str,
        message: str,
        *,
        index: int | None = None,
        utterance_id: str | None = None,
    ) -> None:
        file = str(path.relative_to(self._layout.root))
        self._findings.append(Finding(file=file, check=check, message=message, index=index, utterance_id=utterance_id))

    def _count(self, field: str) -> dict[str, int]:
        return dict(sorted(collections.Counter(getattr(facts, field) for facts in self._facts).items()))


def _frames(file: BinaryIO, *, rows: list[dict[str, Any]]) -> Iterator[tuple[int, Frame | CorruptFrame]]:
    """Each record by its index; past a broken length the manifest's offsets lead on."""
    index, offset, size = 0, 0, file.seek(0, os.SEEK_END)
    while True:
        try:
            frame = read_frame(file, index=index, offset_bytes=offset)
            if frame is None:
                return
            yield index, frame
            offset += framed_bytes(frame.payload)
        except CorruptFrame as error:
            yield index, error
            if index + 1 >= len(rows) or not offset < rows[index + 1]["offset_bytes"] < size:
                return
            offset = rows[index + 1]["offset_bytes"]
        index += 1


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
