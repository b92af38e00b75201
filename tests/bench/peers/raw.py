"""The floor: TensorFlow reads the records of the shards, shuffles and batches them; nothing is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from tests.bench.peers.clips import CLIPS_PER_BATCH, SEED, WINDOW_CLIPS, Corpus, Tally

TOLERANCE = None  # there are no values to compare


class Records(NamedTuple):
    """A batch of serialised records, where TensorFlow left them."""

    records: tf.Tensor  # [B] string

    def tally(self) -> Tally:
        """Counts the records, and reads the size of each."""
        assert int(tf.reduce_min(tf.strings.length(self.records))) > 0
        return Tally(self.records.shape[0], 0, 0)


def prepare(folder: Path, corpus: Corpus) -> None:
    """The shards are what is read."""


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Records]:
    dataset = corpus.dataset
    files = [str(dataset.layout.shard(shard.name)) for shard in dataset.info.shards_of("train")]
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )
    shuffled = records.shuffle(WINDOW_CLIPS, seed=SEED).repeat(epochs)
    return map(Records, shuffled.batch(CLIPS_PER_BATCH).prefetch(tf.data.AUTOTUNE))
