"""Python in the graph: `from_generator` names the files, `numpy_function` loads them, as TensorFlowTTS does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from tests.bench.peers.clips import Batch, Corpus, shuffled
from tests.bench.peers.tensors import bucketed_batches

TOLERANCE = 0.0


def prepare(folder: Path, corpus: Corpus) -> None:
    for number, clip in enumerate(corpus.clips()):
        np.save(folder / f"{number:06d}-mel.npy", clip.mel)
        np.save(folder / f"{number:06d}-tokens.npy", clip.tokens)


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    mels, tokens = (sorted(map(str, folder.glob(f"*-{kind}.npy"))) for kind in ("mel", "tokens"))
    n_mels, dtype = np.load(mels[0]).shape[1], np.load(mels[0]).dtype

    def names() -> Iterator[tuple[str, str]]:
        return ((mels[number], tokens[number]) for number in shuffled(len(mels), epochs=epochs))

    def load(mel: tf.Tensor, tokens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        loaded = tf.numpy_function(np.load, [mel], dtype), tf.numpy_function(np.load, [tokens], tf.int32)
        return tf.ensure_shape(loaded[0], [None, n_mels]), tf.ensure_shape(loaded[1], [None])

    paths = tf.data.Dataset.from_generator(names, output_signature=(tf.TensorSpec([], tf.string),) * 2)
    return bucketed_batches(paths.map(load, num_parallel_calls=tf.data.AUTOTUNE), corpus)
