"""TFRecords as the guides write them: a float list a mel, parsed record by record, then `padded_batch` by bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from tests.bench.peers.clips import SEED, WINDOW_CLIPS, Batch, Clip, Corpus
from tests.bench.peers.tensors import bucketed_batches

TOLERANCE = 0.0
FILES = 8


def prepare(folder: Path, corpus: Corpus) -> None:
    writers = [tf.io.TFRecordWriter(str(folder / f"{number}.tfrecord")) for number in range(FILES)]
    for number, clip in enumerate(corpus.clips()):
        writers[number % FILES].write(_example(clip).SerializeToString())
    for writer in writers:
        writer.close()


def _example(clip: Clip) -> tf.train.Example:
    mel = tf.train.FloatList(value=clip.mel.ravel().tolist())
    tokens = tf.train.Int64List(value=clip.tokens)
    features = {"mel": tf.train.Feature(float_list=mel), "tokens": tf.train.Feature(int64_list=tokens)}
    return tf.train.Example(features=tf.train.Features(feature=features))


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    n_mels = corpus.dataset.info.contract.features.n_mels
    spec = {
        "mel": tf.io.FixedLenSequenceFeature([n_mels], tf.float32, allow_missing=True),
        "tokens": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }

    def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = tf.io.parse_single_example(record, spec)
        return features["mel"], tf.cast(features["tokens"], tf.int32)

    files = tf.data.Dataset.list_files(str(folder / "*.tfrecord"), seed=SEED)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=FILES, num_parallel_calls=tf.data.AUTOTUNE)
    shuffled = records.shuffle(WINDOW_CLIPS, seed=SEED).repeat(epochs)
    return bucketed_batches(shuffled.map(parse, num_parallel_calls=tf.data.AUTOTUNE), corpus)
