"""References from other clips of a speaker: each clip gets a random part of another clip that was read beside it.

At synthesis, a voice is heard in a clip that says something else. A model that is trained so as well learns to take the
voice from the reference, and not the words or the level of the very recording.

    records of a chunk ──by speaker──► another record of the same speaker ──► a part of its mel, at most C frames long

Which one, and which part, is a function of the seed, the epoch and the chunk. A clip that is its speaker's only one in
the chunk gets none: the model then hears a part of the clip itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract, Dataset
from shared.errors import UserError
from trainer.data.epoch_order import EpochOrder
from trainer.data.manifest_rows import read_manifest_rows
from trainer.model.reference_crop import MIN_CROP_SHARE


class ReferenceParts(NamedTuple):
    """The part that each of n records of a chunk gets."""

    places: tf.Tensor  # [n] int32, index of the other record in the chunk
    starts: tf.Tensor  # [n] int32, frames
    frames: tf.Tensor  # [n] int32; 0: no part


class ReferenceChooser:
    """Chooses the references of a chunk's records."""

    def __init__(self, dataset: Dataset, *, split: str, crop_frames: int, share: float, seed: int):
        """
        Args:
            crop_frames: C, the longest part.
            share: of the clips that get a part of another one.

        Raises:
            UserError: the dataset stores no mels, or a manifest is damaged.
        """
        if not dataset.info.contract.stores_mels:
            raise UserError(
                f"{dataset.layout.root}: stores no mels, which input.reference needs; build it with mel_dtype=float16, "
                "or train with input.reference=same"
            )
        self.crop_frames, self._share, self._seed = crop_frames, share, seed
        self.speakers = read_manifest_rows(dataset, split=split).speaker.codes
        self._speaker = tf.constant(self.speakers, tf.int32)

    def choose(self, rows: tf.Tensor, *, frames: tf.Tensor, place: tf.Tensor) -> ReferenceParts:
        """The parts for records [n], in the order in which they were read.

        Args:
            rows: [n] int64, their numbers in the split.
            frames: [n] int32, their lengths.
            place: [2] int64, the numbers of the epoch and of the chunk.
        """
        other, size, chance, start = (self._uniform(rows, place=place, number=number) for number in range(4))
        places = _another_of_group(tf.gather(self._speaker, rows), uniform=other)
        is_other = (tf.gather(rows, tf.maximum(places, 0)) != rows) & (places >= 0) & (chance < self._share)
        available = tf.gather(frames, tf.maximum(places, 0))
        longest = tf.minimum(available, self.crop_frames)
        shortest = tf.minimum(longest, max(1, int(MIN_CROP_SHARE * self.crop_frames)))
        length = shortest + _below(longest - shortest + 1, uniform=size)
        starts = _below(available - length + 1, uniform=start)
        return ReferenceParts(tf.maximum(places, 0), starts, tf.where(is_other, length, 0))

    def _uniform(self, rows: tf.Tensor, *, place: tf.Tensor, number: int) -> tf.Tensor:
        """Random numbers [n] in [0, 1)."""
        # negative: no seed of the order of epochs
        seed = tf.stack([-2 - (place[0] * (1 << 32) + place[1]), tf.constant(4 * self._seed + number, tf.int64)])
        return tf.random.stateless_uniform(tf.shape(rows), seed)


def share_with_another(order: EpochOrder, *, speakers: np.ndarray) -> float:
    """The share of the sampled rows of epoch 0 beside which a chunk has another clip of the speaker.

    Args:
        speakers: [rows] int.
    """
    epoch = order.epoch(tf.constant(0, tf.int64))
    beside = total = 0
    for number in range(len(epoch.chunk_starts) - 1):
        chunk = order.chunk(epoch, tf.constant(number, tf.int64))
        read = np.unique(order.rows_of(chunk.blocks).numpy())
        clips = np.bincount(speakers[read], minlength=speakers.max(initial=0) + 1)
        beside += int(np.count_nonzero(clips[speakers[chunk.rows.numpy()]] > 1))
        total += len(chunk.rows)
    return beside / max(total, 1)


def reference_share(reference: str) -> float:
    """The share of clips with a part of another one, by the setting `input.reference`."""
    return {"same": 0.0, "mixed": 0.5, "other": 1.0}[reference]


def cut_mels(mel: tf.Tensor, *, parts: ReferenceParts, num_frames: int, contract: Contract) -> tf.Tensor:
    """Cut the parts out of the stored mels: [B, C, M] in the stored dtype, zeros past each part's length.

    Args:
        mel: [n] string, the mels of a chunk's records.
        parts: [B], of a batch.
        num_frames: C.
    """
    dtype, n_mels = tf.dtypes.as_dtype(contract.mel_dtype), contract.features.n_mels
    frame_bytes = n_mels * dtype.size
    cut = tf.strings.substr(tf.gather(mel, parts.places), parts.starts * frame_bytes, parts.frames * frame_bytes)
    words = tf.io.decode_raw(cut, tf.int64, fixed_length=num_frames * frame_bytes)  # not every dtype can be padded
    return tf.reshape(tf.bitcast(words, dtype), [-1, num_frames, n_mels])


def _another_of_group(groups: tf.Tensor, *, uniform: tf.Tensor) -> tf.Tensor:
    """For each of n elements another one of its group, at random; −1 if there is none; int32."""
    order = tf.argsort(groups, stable=True)
    _, group, sizes = tf.unique_with_counts(tf.gather(groups, order))
    size, first = tf.gather(sizes, group), tf.gather(tf.cumsum(sizes, exclusive=True), group)
    numbers = tf.range(tf.size(order))
    later = 1 + _below(size - 1, uniform=tf.gather(uniform, order))
    others = tf.gather(order, first + (numbers - first + later) % size)
    return tf.scatter_nd(order[:, None], tf.where(size > 1, others, -1), tf.shape(order))


def _below(count: tf.Tensor, *, uniform: tf.Tensor) -> tf.Tensor:
    """Integers from 0 to count − 1, or 0 if count is 0, from uniform numbers in [0, 1); int32."""
    drawn = tf.cast(uniform * tf.cast(count, tf.float32), tf.int32)
    return tf.maximum(tf.minimum(drawn, count - 1), 0)
