"""The content of `dataset.json`: contract, sources, shards, languages, speakers and statistics of a dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pydantic

from shared.errors import UserError
from shared.features import FeatureSpec
from shared.layout import SHARD_NAME, SPLITS, Layout
from shared.locks import finish_publication
from shared.processing import Processing
from shared.records import (
    NO_MEL,
    NO_PITCH,
    NO_WAVEFORM,
    Field,
    PitchMethod,
    Record,
    decode_record,
    stored_fields,
)
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, read_table
from shared.tfrecord import read_framed_record, read_framed_records
from shared.vocabulary import NLLB, TokenizerKind

SCHEMA_VERSION = 3
# Fields of the contract that are left out where a dataset has no such thing, and their values there.
_OPTIONAL_FACTS: dict[str, Any] = {
    "waveform_dtype": NO_WAVEFORM,
    "text_normalizer": None,
    "pitch": NO_PITCH,
    "energy": False,
    "tokenizer_kind": NLLB,
    "phonemizer": None,
}


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Count = Annotated[int, pydantic.Field(ge=0)]
Positive = Annotated[float, pydantic.Field(gt=0)]
# ln magnitude. No preset gives values beyond these bounds; training divides by the deviation.
Level = Annotated[float, pydantic.Field(ge=-20, le=20)]
Deviation = Annotated[float, pydantic.Field(gt=0, le=20)]
Sha256 = Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]


class TokenizerIdentity(_Frozen):
    """The tokenizer that made the token ids, and its location."""

    location: str
    sha256: Sha256
    size: int


class NormalizerIdentity(_Frozen):
    """A text normalizer of the user's own, and the package that holds it."""

    name: str
    distribution: str
    version: str
    sha256: Sha256  # of the file that defines the function


class PhonemizerIdentity(_Frozen):
    """The program that made phonemes of the texts."""

    name: str
    version: str
    rules: str  # of preprocess/phonemizer.py
    sha256: Sha256  # of the program's data


class Contract(_Frozen):
    """The meaning of the numbers in the shards. Datasets with equal fingerprints can be trained on together."""

    schema_version: int = SCHEMA_VERSION
    features: FeatureSpec
    mel_dtype: str
    tokenizer: TokenizerIdentity
    text_preparation: str
    processing: Processing
    waveform_dtype: Literal["none", "int16"] = NO_WAVEFORM
    text_normalizer: NormalizerIdentity | None = None
    pitch: PitchMethod = NO_PITCH
    energy: bool = False
    tokenizer_kind: TokenizerKind = NLLB
    phonemizer: PhonemizerIdentity | None = None

    @pydantic.model_serializer(mode="wrap")
    def _without_defaults(self, serialize: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what a dataset has not, as before there was any: the bytes are the same."""
        facts = serialize(self)
        for name, default in _OPTIONAL_FACTS.items():
            if name in facts and facts[name] == default:
                del facts[name]
        return facts

    @property
    def record_fields(self) -> tuple[Field, ...]:
        """The fields of each record, in the order in which they are stored."""
        return stored_fields(waveform_dtype=self.waveform_dtype, pitch=self.pitch, energy=self.energy)

    @property
    def stores_waveforms(self) -> bool:
        return self.waveform_dtype != NO_WAVEFORM

    @property
    def acoustic(self) -> Contract:
        """The contract for a model of mels and tokens, to which waveforms, pitch and energy make no difference."""
        return self.model_copy(update={"waveform_dtype": NO_WAVEFORM, "pitch": NO_PITCH, "energy": False})

    @property
    def stores_mels(self) -> bool:
        """True if the records hold mels; otherwise training computes the mels from the audio files."""
        return self.mel_dtype != NO_MEL

    @property
    def fingerprint(self) -> str:
        """blake2b of all fields except the tokenizer's location, 32 hexadecimal digits."""
        facts = self.model_dump(mode="json", exclude={"tokenizer": {"location"}})
        canonical = json.dumps(facts, sort_keys=True).encode()
        return hashlib.blake2b(canonical, digest_size=16).hexdigest()


def contract_differences(first: Contract, second: Contract) -> dict[str, tuple[Any, Any]]:
    """Both values of each field that gives two contracts different fingerprints, by dotted key."""
    facts = [
        _OPTIONAL_FACTS | one.model_dump(mode="json", exclude={"tokenizer": {"location"}}) for one in (first, second)
    ]
    pairs = [(key, [one[key] for one in facts]) for key in facts[0]]
    differences: dict[str, tuple[Any, Any]] = {}
    for key, (one, other) in pairs:
        nested = isinstance(one, dict) and isinstance(other, dict)
        fields = {f"{key}.{name}": (one[name], other[name]) for name in one} if nested else {key: (one, other)}
        differences |= {name: values for name, values in fields.items() if values[0] != values[1]}
    return differences


class ShardInfo(_Frozen):
    """One published shard."""

    name: Annotated[str, pydantic.Field(pattern=f"^(?:{SHARD_NAME.pattern})$")]
    split: str
    inputs: str  # hash of everything that the records were made from
    records: Count
    bytes: Count
    sha256: Sha256
    frames: Count
    tokens: Count
    manifest_sha256: Sha256
    rejected: Count
    rejected_sha256: Sha256
    withheld: Count  # rejected utterances that have a record
    withheld_sha256: Sha256
    withheld_manifest_sha256: Sha256

    def sha256_of_files(self) -> tuple[Sha256, ...]:
        """The digests of the shard's files, in the order of `Layout.shard_files`."""
        return (
            self.sha256,
            self.manifest_sha256,
            self.rejected_sha256,
            self.withheld_sha256,
            self.withheld_manifest_sha256,
        )


class SourceInfo(_Frozen):
    """One configured source; `read = written + rejected`."""

    reader: str
    languages: tuple[str, ...]
    weight: Positive  # repetitions of each record in a training epoch
    read: Count
    written: Count
    rejected: Count
    shards: tuple[ShardInfo, ...]


class SpeakerInfo(_Frozen):
    id: Count
    records: Count


class LanguageInfo(_Frozen):
    id: Count
    records: Count


class MelStatistics(_Frozen):
    """Mean and standard deviation of each mel band over the training split, in ln magnitude."""

    mean: tuple[Level, ...]
    std: tuple[Deviation, ...]


class SelectionCriteria(_Frozen):
    """The thresholds that decided which records are in the shards."""

    checks: dict[str, float | int | bool | None]
    # accepted characters per second: source -> language -> (low, high)
    characters_per_second: dict[str, dict[str, tuple[float, float]]]


class DatasetInfo(_Frozen):
    """The content of `dataset.json`."""

    fingerprint: str
    contract: Contract
    sources: dict[str, SourceInfo]
    languages: dict[str, LanguageInfo]
    speakers: dict[str, SpeakerInfo]
    vocabulary_size: Count
    vocabulary_sha256: Sha256
    mel: MelStatistics
    selection: SelectionCriteria
    # Python, libraries and processor -> each version that had a part in the dataset
    made_by: dict[str, tuple[str, ...]] = {}

    @property
    def shards(self) -> list[ShardInfo]:
        return [shard for name in sorted(self.sources) for shard in self.sources[name].shards]

    def shards_of(self, split: str) -> list[ShardInfo]:
        return [shard for shard in self.shards if shard.split == split]


class Dataset(NamedTuple):
    """A published dataset: its files and the content of its `dataset.json`."""

    layout: Layout
    info: DatasetInfo

    @classmethod
    def open(cls, root: StoragePath | str) -> Dataset:
        """Open a dataset: read and check its `dataset.json`.

        Raises:
            UserError: there is no finished dataset, or it has another schema version.
        """
        layout = Layout(Path(root) if isinstance(root, str) else root)
        finish_publication(layout)
        if not layout.success.is_file():
            raise UserError(_why_absent(layout))
        return cls(layout, read_info(layout.info))

    def manifest(self, split: str, *, columns: Sequence[str] = tuple(MANIFEST.names)) -> pa.Table:
        """Read the manifest rows of a split, in the order of the shards in `dataset.json` and of their records.

        Raises:
            pa.ArrowInvalid: a table is damaged, or far larger than `dataset.json` states.
        """
        tables = [self.manifest_of(shard, columns=columns) for shard in self.info.shards_of(split)]
        return pa.concat_tables(tables) if tables else MANIFEST.empty_table().select(list(columns))

    def manifest_of(self, shard: ShardInfo, *, columns: Sequence[str] = tuple(MANIFEST.names)) -> pa.Table:
        """Read the manifest rows of a shard, in the order of its records; raises as `manifest` does."""
        path = self.layout.manifest(shard.name)
        return read_table(path, schema=MANIFEST, columns=list(columns), rows=shard.records)

    def records(self, split: str) -> Iterator[Record]:
        """Read the records of a split, in the order of the manifest's rows, and check their checksums.

        Raises:
            UserError: there is no such split.
            ValueError: a record is damaged.
        """
        if split not in SPLITS:
            raise UserError(f"no split {split!r}; expected {' or '.join(SPLITS)}")
        for shard in self.info.shards_of(split):
            yield from self.records_of(shard)

    def records_of(self, shard: ShardInfo) -> Iterator[Record]:
        """Read the records of a shard; raises ValueError if one is damaged."""
        count = 0
        with self.layout.shard(shard.name).open("rb") as file:
            for found in read_framed_records(file):
                count += 1
                yield self._decoded(found.payload)
        if count != shard.records:
            raise ValueError(f"{shard.name}: {count} records; expected {shard.records}")

    def record(self, utterance_id: str) -> Record:
        """Find and read the record of an utterance, such as `ljspeech/LJ001-0001`.

        Raises:
            UserError: no record has this id.
            ValueError: the record is damaged.
        """
        source = self.info.sources.get(utterance_id.partition("/")[0])
        for shard in source.shards if source else ():
            rows = self.manifest_of(shard, columns=["utterance_id", "index", "offset_bytes"])
            if utterance_id in (ids := rows["utterance_id"].to_pylist()):
                return self.record_of({**rows.slice(ids.index(utterance_id), 1).to_pylist()[0], "shard": shard.name})
        raise UserError(f"{self.layout.root}: no record of {utterance_id!r}; the manifest has the ids of all records")

    def record_of(self, row: Mapping[str, Any]) -> Record:
        """Read the record of a row of the manifest.

        Args:
            row: `utterance_id`, `shard`, `index` and `offset_bytes`, at least.

        Raises:
            OSError: the shard cannot be read.
            ValueError: the record is damaged, or is that of another utterance.
        """
        with self.layout.shard(row["shard"]).open("rb") as file:
            found = read_framed_record(file, index=row["index"], offset_bytes=row["offset_bytes"])
        if found is None:
            raise ValueError(
                f"{row['shard']}: the shard ends before record {row['index']} at byte {row['offset_bytes']}"
            )
        record = self._decoded(found.payload)
        if record.utterance_id != row["utterance_id"]:
            raise ValueError(f"{row['shard']}: record {row['index']} is that of {record.utterance_id}")
        return record

    def _decoded(self, payload: bytes) -> Record:
        contract = self.info.contract
        return decode_record(
            payload,
            mel_dtype=contract.mel_dtype,
            n_mels=contract.features.n_mels,
            fields=contract.record_fields,
        )


def _why_absent(layout: Layout) -> str:
    if not layout.root.is_dir():
        return (
            f"{layout.root}: no such directory; expected a dataset, which `make preprocess DATA={layout.root}` builds"
        )
    if layout.info.exists() or layout.staging.exists():
        message = f"{layout.root}: a build of this dataset did not finish (no _SUCCESS); run `make preprocess` again"
        return f"{message}, or `make repair` if _SUCCESS alone was lost" if layout.info.exists() else message
    return f"{layout.root}: no dataset here (no _SUCCESS); `make preprocess DATA={layout.root}` builds one"


def read_info(path: StoragePath) -> DatasetInfo:
    """Read and check a `dataset.json`.

    Raises:
        UserError: it cannot be read, has another schema version, or was edited.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be read for ever
            raise ValueError("not a regular file")
        document = json.loads(path.read_text(encoding="utf-8"))
        version = document["contract"]["schema_version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not a readable dataset.json ({error}); run `make preprocess` again") from error
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path}: schema version {version}; expected {SCHEMA_VERSION}; build it again with this version"
        )
    try:
        info = DatasetInfo.model_validate(document)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {where}: {first['msg']}; run `make preprocess` again") from error
    if info.fingerprint != info.contract.fingerprint:
        raise UserError(
            f"{path}: the fingerprint does not match the contract: the file was edited; run `make preprocess` again"
        )
    return info


def moment_sums(moments: np.ndarray, *, frames: int) -> np.ndarray:
    """Per-band sums and sums of squares, [2, M] float64, of `frames` frames with the moments [3, M]."""
    mean, deviation, _ = moments.astype(np.float64)
    return frames * np.stack([mean, mean * mean + deviation * deviation])


def mel_statistics(*, frames: int, sums: np.ndarray, squares: np.ndarray) -> MelStatistics:
    """Mean and standard deviation of each band from its sum and sum of squares over all frames, [M] float64 each."""
    count = max(frames, 1)
    mean = sums / count
    variance = np.maximum(squares / count - mean * mean, 1e-6)
    return MelStatistics(mean=tuple(mean.tolist()), std=tuple(np.sqrt(variance).tolist()))
