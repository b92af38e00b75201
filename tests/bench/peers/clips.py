"""The clips that every candidate loads, the rule by which it batches them, and the check that it did."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from shared.dataset import Dataset
from shared.records import MEL_DTYPES, decode
from shared.tfrecord import read_framed_records
from shared.vocabulary import Vocabulary

CLIPS_PER_BATCH = 32
WINDOW_CLIPS = 400  # of the candidates that shuffle a stream
SEED = 1

Item = TypeVar("Item")


class Clip(NamedTuple):
    """What is to be loaded of one utterance."""

    mel: np.ndarray  # [F, M] in the stored dtype
    tokens: np.ndarray  # [T] int32, dense ids


class Tally(NamedTuple):
    """What a batch held: clips, their frames, and the frames that it had room for."""

    clips: int
    frames: int
    room_frames: int


class Load(Protocol):
    """A batch in memory."""

    def tally(self) -> Tally:
        """What it held."""


class Batch(NamedTuple):
    """A candidate's own tensors, viewed as arrays; rows without frames are no clips."""

    mel: np.ndarray  # [B, F, M], padded with log-silence
    frames: np.ndarray  # [B]
    tokens: np.ndarray  # [B, T], padded with 0
    token_counts: np.ndarray  # [B]

    def tally(self) -> Tally:
        """Counts the clips, and reads a value of each tensor."""
        assert np.isfinite(self.mel[-1, -1, -1])
        assert self.tokens[-1, -1] >= 0
        assert self.token_counts[0] > 0
        clips = int(np.count_nonzero(self.frames))
        return Tally(clips, int(self.frames.sum()), self.mel.shape[0] * self.mel.shape[1])


class Corpus(NamedTuple):
    """A dataset, and the lengths in frames at which its clips are divided into buckets."""

    data: str
    bounds: list[int]

    @property
    def dataset(self) -> Dataset:
        return Dataset.open(Path(self.data))

    @property
    def log_silence(self) -> float:
        """As the stored dtype has it."""
        contract = self.dataset.info.contract
        return float(MEL_DTYPES[contract.mel_dtype].type(contract.features.log_silence))

    def clips(self) -> Iterator[Clip]:
        """Every clip of the training split, in the order of the shards."""
        dataset = self.dataset
        contract, table = dataset.info.contract, Vocabulary.load(dataset.layout.vocabulary).table()
        for shard in dataset.info.shards_of("train"):
            with Path(str(dataset.layout.shard(shard.name))).open("rb") as file:
                for frame in read_framed_records(file):
                    record = decode(frame.payload)
                    values = np.frombuffer(record["mel"][0], MEL_DTYPES[contract.mel_dtype])
                    yield Clip(values.reshape(-1, contract.features.n_mels), table[np.array(record["tokens"])])


def epoch_numbers(epochs: int | None) -> Iterator[int]:
    """0, 1, …: so many, or without an end."""
    return itertools.count() if epochs is None else iter(range(epochs))


def shuffled(clips: int, *, epochs: int | None) -> Iterator[int]:
    """The numbers of the clips, in an order of each epoch's own."""
    chance = np.random.default_rng(SEED)
    for _ in epoch_numbers(epochs):
        yield from chance.permutation(clips).tolist()


def bucketed(items: Iterable[Item], *, frames: Callable[[Item], int], bounds: Sequence[int]) -> Iterator[list[Item]]:
    """Items of one bucket together, as soon as there are enough for a batch; what is left comes at the end."""
    waiting: list[list[Item]] = [[] for _ in bounds]
    for item in items:
        bucket = waiting[int(np.searchsorted(bounds, frames(item)))]
        bucket.append(item)
        if len(bucket) == CLIPS_PER_BATCH:
            yield bucket.copy()
            bucket.clear()
    yield from filter(None, waiting)


def padded(clips: Sequence[Clip], *, log_silence: float) -> Batch:
    """The clips in new arrays as long as the longest of them."""
    frames, counts = np.array([len(clip.mel) for clip in clips]), np.array([len(clip.tokens) for clip in clips])
    first = clips[0]
    mel = np.empty((len(clips), frames.max(), first.mel.shape[1]), first.mel.dtype)
    tokens = np.zeros((len(clips), counts.max()), first.tokens.dtype)
    for row, clip in enumerate(clips):
        mel[row, : len(clip.mel)] = clip.mel
        mel[row, len(clip.mel) :] = log_silence
        tokens[row, : len(clip.tokens)] = clip.tokens
    return Batch(mel, frames, tokens, counts)


def check_epoch(batches: Iterable[Batch], corpus: Corpus, *, tolerance: float) -> None:
    """Raises AssertionError unless the batches hold every clip once, with its values, and are padded as agreed."""
    clips: dict[bytes, list[Clip]] = collections.defaultdict(list)
    for clip in corpus.clips():
        clips[_key(clip)].append(clip)
    for batch in batches:
        for row in np.flatnonzero(batch.frames):
            _remove(clips, batch, row, tolerance=tolerance, log_silence=corpus.log_silence)
    missing = sum(map(len, clips.values()))
    assert missing == 0, f"{missing} clips did not come"


def _key(clip: Clip) -> bytes:
    return np.array([len(clip.mel), *clip.tokens], np.int64).tobytes()


def _remove(clips: dict[bytes, list[Clip]], batch: Batch, row: int, *, tolerance: float, log_silence: float) -> None:
    frames, count = int(batch.frames[row]), int(batch.token_counts[row])
    assert (batch.tokens[row, count:] == 0).all(), "tokens are not padded with 0"
    assert np.abs(batch.mel[row, frames:].astype(np.float32) - log_silence).max(initial=0) < 0.01, "no silence"
    found = Clip(batch.mel[row, :frames], batch.tokens[row, :count])
    candidates = clips[_key(found)]
    for number, clip in enumerate(candidates):
        if np.abs(clip.mel.astype(np.float32) - found.mel.astype(np.float32)).max() <= tolerance:
            del candidates[number]
            return
    raise AssertionError(f"a clip of {frames} frames and {count} tokens is none of the corpus, or comes again")
