"""Log-silence is written into a batch in place: only where nothing else holds the memory that is written to."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from trainer.input.parse import StoredMel

F = 24
FRAMES, FEWER = [F, 17, 3], [5, 2, 0]


@pytest.fixture(scope="module")
def mels(dataset: Dataset) -> list[np.ndarray]:
    spec, chance = dataset.info.contract.features, np.random.default_rng(1)
    return [chance.normal(-5, 2, (frames, spec.n_mels)).astype(np.float16) for frames in FRAMES]


def padded(mels: list[np.ndarray], *, frames: list[int], silence: float) -> np.ndarray:
    batch = np.full((len(mels) + 1, F, mels[0].shape[1]), silence, np.float16)
    for row, (mel, kept) in enumerate(zip(mels, frames, strict=True)):
        batch[row, :kept] = mel[:kept]
    return batch


@pytest.mark.parametrize("is_constant", [False, True], ids=["argument", "constant"])
def test_batches_of_the_same_records_do_not_write_into_each_other_or_into_the_records(
    dataset: Dataset, mels: list[np.ndarray], is_constant: bool
) -> None:
    """The one with fewer frames silences what the other has to keep: twice in a graph that grappler has its way with,
    where equal operations become one and those of constants are computed beforehand."""
    stored, silence = StoredMel(dataset.info.contract), dataset.info.contract.features.log_silence
    raw = [mel.tobytes() for mel in mels]
    chunk = tf.constant(raw)

    @tf.function
    def cut(chunk: tf.Tensor) -> tuple[tf.Tensor, ...]:
        given = tf.constant(raw) if is_constant else chunk
        rows = tf.constant([7, 8, 9, -1], tf.int64)
        return (
            *(
                stored(given, rows=rows, frames=tf.constant([*frames, 0]), num_frames=tf.constant(F))
                for frames in (FRAMES, FEWER, FRAMES)
            ),
            given,
        )

    for _ in range(3):
        *batches, after = cut(chunk)
        for batch, frames in zip(batches, (FRAMES, FEWER, FRAMES), strict=True):
            np.testing.assert_array_equal(batch, padded(mels, frames=frames, silence=silence))
        assert after.numpy().tolist() == chunk.numpy().tolist() == raw
