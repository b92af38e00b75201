"""What the candidates that use tf.data share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tests.bench.peers.clips import CLIPS_PER_BATCH, Batch, Corpus


def view(tensor: tf.Tensor) -> np.ndarray:
    """An array over the tensor's own memory."""
    return np.asarray(memoryview(tensor))


def bucketed_batches(clips: tf.data.Dataset, corpus: Corpus) -> Iterator[Batch]:
    """Batches of (mel [F, M], tokens [T]), by TensorFlow's own bucketing."""
    measured = clips.map(lambda mel, tokens: (mel, tf.shape(mel)[0], tokens, tf.shape(tokens)[0]))
    batches = measured.bucket_by_sequence_length(
        lambda mel, frames, tokens, token_count: frames,
        bucket_boundaries=[bound + 1 for bound in corpus.bounds[:-1]],  # a boundary is the first length of the next
        bucket_batch_sizes=[CLIPS_PER_BATCH] * len(corpus.bounds),
        padding_values=(tf.cast(corpus.log_silence, measured.element_spec[0].dtype), 0, 0, 0),
    )
    for batch in batches.prefetch(tf.data.AUTOTUNE):
        yield Batch(*map(view, batch))
