"""Log-silence is written into a batch in place, where nothing else is harmed by it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from trainer.data.parser import StoredMel

F = 24
FRAMES, LONGER = [F, 17, 3], F + 8


@pytest.fixture(scope="module")
def mels(dataset: Dataset) -> list[np.ndarray]:
    spec, chance = dataset.info.contract.features, np.random.default_rng(1)
    return [chance.normal(-5, 2, (frames, spec.n_mels)).astype(np.float16) for frames in FRAMES]


def padded(mels: list[np.ndarray], *, num_frames: int, silence: float) -> np.ndarray:
    batch = np.full((len(mels) + 1, num_frames, mels[0].shape[1]), silence, np.float16)
    for row, mel in enumerate(mels):
        batch[row, : len(mel)] = mel
    return batch


@pytest.mark.parametrize("is_constant", [False, True], ids=["argument", "constant"])
def test_batches_of_the_same_records_do_not_write_into_each_other_or_into_the_records(
    dataset: Dataset, mels: list[np.ndarray], is_constant: bool
) -> None:
    """Thrice in a graph that grappler has its way with, where equal operations become one and those of constants are
    computed beforehand."""
    stored, silence = StoredMel(dataset.info.contract), dataset.info.contract.features.log_silence
    raw = [mel.tobytes() for mel in mels]
    chunk = tf.constant(raw)

    @tf.function
    def cut(chunk: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given, rows, frames = (
            tf.constant(raw) if is_constant else chunk,
            tf.constant([7, 8, 9, -1], tf.int64),
            [*FRAMES, 0],
        )
        sizes = (F, LONGER, F)
        return (
            *(stored(given, rows=rows, frames=tf.constant(frames), num_frames=tf.constant(size)) for size in sizes),
            given,
        )

    for _ in range(3):
        *batches, after = cut(chunk)
        for batch, size in zip(batches, (F, LONGER, F), strict=True):
            np.testing.assert_array_equal(batch, padded(mels, num_frames=size, silence=silence))
        assert after.numpy().tolist() == chunk.numpy().tolist() == raw
