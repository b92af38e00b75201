"""The stream that training uses: shuffled, bucketed, padded and masked, on the device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shared.dataset import Dataset
from tests.bench.peers.clips import CLIPS_PER_BATCH, SEED, Batch, Corpus
from tests.bench.peers.tensors import view
from trainer.config.data_config import InputConfig
from trainer.data.pipeline import Stream
from trainer.data.plan import Plan, plan_dataset

TOLERANCE = 0.0
INPUTS = InputConfig(buckets=8, global_frames_per_batch=1 << 30, global_max_clips=CLIPS_PER_BATCH)
FRAMES_PER_STEP = 4


def plan(dataset: Dataset) -> Plan:
    """The buckets of this comparison: so many clips in a batch of any length."""
    return plan_dataset(dataset, config=INPUTS, frames_per_step=FRAMES_PER_STEP, steps=100)


def prepare(folder: Path, corpus: Corpus) -> None:
    """The shards are what is read."""


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    dataset = corpus.dataset
    stream = Stream(dataset, split="train", plan=plan(dataset), config=INPUTS, seed=SEED)
    for batch in stream.endless(device="/CPU:0"):
        if epochs is not None and int(batch["next"][0]) >= epochs:
            return
        yield Batch(*(view(batch[name]) for name in ("mel", "frames", "tokens", "token_counts")))
