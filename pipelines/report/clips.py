"""Records to look at and to listen to: the mel as it stands in the shard, the sound as it stands in the corpus."""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pipelines.config import MAX_DECODE_S
from pipelines.html.axes import Tick, round_step
from pipelines.html.media import sound
from pipelines.tables.columns import DatasetRows
from preprocess.audio import Signal, decode_audio, read_audio_file, resample
from preprocess.mel import log_mel
from preprocess.processing import process
from preprocess.utterance import Rejected
from shared.dataset import Contract, Dataset
from shared.records import MEL_DTYPES, decode
from shared.storage_path import Place
from shared.tfrecord import read_frame

CLIPS = 12
# Of these many of a source and language the first few are taken, of as many speakers as there are.
POOL = 64

EXTREMES = (
    ("shortest", "duration_s", np.argmin),
    ("longest", "duration_s", np.argmax),
    ("slowest", "characters_per_second", np.argmin),
    ("fastest", "characters_per_second", np.argmax),
    ("noisiest", "snr_db", np.argmin),
    ("quietest", "rms_db", np.argmin),
)
SHOWN_REASONS = 3


class Clip(NamedTuple):
    """One record, seen and heard."""

    label: str
    row: dict[str, Any]  # of the manifest
    file: str  # the manifest's, within the dataset
    mel: np.ndarray | None  # [F, M]
    audio: str | None  # as a data URI
    complaint: str  # why either is absent

    @property
    def duration_s(self) -> float:
        return self.row["duration_s"]

    @property
    def text_differs(self) -> bool:
        return self.row["text"] != self.row["original_text"]

    @property
    def ticks(self) -> list[Tick]:
        """Seconds along the picture, as shares of its width."""
        step = round_step(self.duration_s, at_most=5)
        count = int(self.duration_s / step + 1e-9)
        return [Tick(round(i * step / self.duration_s, 4), f"{i * step:g}") for i in range(count + 1)]


class Gallery(NamedTuple):
    """What is shown."""

    typical: list[Clip]
    extreme: list[Clip]
    withheld: list[Clip]

    @property
    def clips(self) -> list[Clip]:
        return [*self.typical, *self.extreme, *self.withheld]

    @property
    def range(self) -> tuple[float, float]:
        """The ln magnitudes that are black and pale, in every picture."""
        values = [clip.mel.astype(np.float32).ravel() for clip in self.clips if clip.mel is not None]
        low, high = np.percentile(np.concatenate(values), (2, 99.9)) if values else (0.0, 1.0)
        return float(low), max(float(high), float(low) + 1e-3)


def gallery(dataset: Dataset, *, kept: DatasetRows, withheld: DatasetRows, reasons: dict[str, np.ndarray]) -> Gallery:
    """The clips to show.

    Args:
        reasons: the withheld rows of each reason.
    """
    chosen = [(row, "") for row in choose_typical(kept)]
    extremes = choose_extremes(kept)
    common = sorted(reasons, key=lambda reason: (-len(reasons[reason]), reason))[:SHOWN_REASONS]
    aside = [(int(reasons[reason][0]), reason.replace("_", " ")) for reason in common]
    return Gallery(
        typical=list(_clips(dataset, kept, chosen, "manifest", "shards")),
        extreme=list(_clips(dataset, kept, extremes, "manifest", "shards")),
        withheld=list(_clips(dataset, withheld, aside, "withheld", "withheld")),
    )


def choose_typical(kept: DatasetRows) -> list[int]:
    """A dozen rows, over sources, languages and speakers in turn.

    Records lie in the order of a hash of their ids, so the first ones are a sample, and always the same one.
    """
    sources, source_names = kept.codes("source")
    languages, _ = kept.codes("language")
    groups = languages.astype(np.int64) * len(source_names) + sources
    speakers, _ = kept.codes("speaker")
    numbers, counts = np.unique(groups, return_counts=True)
    by_size = numbers[np.argsort(-counts, kind="stable")]
    queues = [_varied(np.flatnonzero(groups == number)[:POOL], speakers=speakers) for number in by_size]
    rounds = (queue[turn] for turn in range(CLIPS) for queue in queues if turn < len(queue))
    return [row for row, _ in zip(rounds, range(CLIPS), strict=False)]


def _varied(rows: np.ndarray, *, speakers: np.ndarray) -> list[int]:
    """In turns of their speakers."""
    heard: collections.Counter[int] = collections.Counter()
    turns = []
    for row in rows.tolist():
        heard[speakers[row]] += 1
        turns.append((heard[speakers[row]], row))
    return [row for _, row in sorted(turns)]


def choose_extremes(kept: DatasetRows) -> list[tuple[int, str]]:
    """Rows, and what is extreme about each."""
    found: dict[int, list[str]] = {}
    for name, column, choose in EXTREMES:
        if len(kept.table):
            found.setdefault(int(choose(kept.numbers(column))), []).append(name)
    return [(row, ", ".join(names)) for row, names in found.items()]


def _clips(
    dataset: Dataset, rows: DatasetRows, chosen: list[tuple[int, str]], folder: str, records: str
) -> Iterator[Clip]:
    for number, label in chosen:
        row = rows.whole(number)
        stem, _ = rows.place(number)
        path = dataset.layout.root / records / f"{stem}.tfrecord"
        yield make_clip(row, path=path, label=label, file=f"{folder}/{stem}.parquet", contract=dataset.info.contract)


def make_clip(row: dict[str, Any], *, path: Place, label: str, file: str, contract: Contract) -> Clip:
    """The mel of a record and the sound that it was made from, or why they are not to be had.

    A mel that the record does not hold is made again from the sound.
    """
    complaints, mel, audio = [], None, None
    try:
        mel = read_mel(path, row=row, contract=contract) if contract.stores_mels else None
    except (OSError, ValueError, KeyError) as error:
        complaints.append(f"The record cannot be read: {error}.")
    try:
        original = read_original(row, contract=contract)
        audio = sound(original)
        mel = mel if contract.stores_mels else log_mel(original.samples, spec=contract.features)
    except (OSError, Rejected, Changed) as error:
        complaints.append(f"No sound: {error}.")
    return Clip(label, row, file, mel, audio, " ".join(complaints))


def read_mel(path: Place, *, row: dict[str, Any], contract: Contract) -> np.ndarray:
    """The mel at the place that the manifest names, [F, M].

    Raises:
        ValueError: there is no sound record of this utterance there.
    """
    with path.open("rb") as file:
        frame = read_frame(file, index=row["index"], offset_bytes=row["offset_bytes"])
    features = decode(frame.payload if frame else b"")
    if features.get("utterance_id") != [row["utterance_id"].encode()]:
        raise ValueError(f"record {row['index']} of {path.name} is of another utterance")
    (data,) = features["mel"]
    assert isinstance(data, bytes)
    return np.frombuffer(data, MEL_DTYPES[contract.mel_dtype]).reshape(-1, contract.features.n_mels)


class Changed(Exception):
    """The file is not the one that the record was made from."""


def read_original(row: dict[str, Any], *, contract: Contract) -> Signal:
    """The sound that the mel was computed from.

    Raises:
        Rejected: the original is gone or cannot be decoded.
        Changed: it is another file now.
    """
    data = read_audio_file(row["audio_path"])
    if hashlib.sha256(data).hexdigest() != row["audio_sha256"]:
        raise Changed(f"{row['audio_path']} has changed since the build (sha256)")
    decoded = decode_audio(data, max_duration_s=MAX_DECODE_S)
    return process(resample(decoded, rate_hz=contract.features.sample_rate_hz), steps=contract.processing)
