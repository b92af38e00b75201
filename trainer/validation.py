"""Teacher-forced validation: losses over the split that is not trained on, and pictures of its first clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.model.decoder import Decoded
from trainer.pictures import alignment_picture, mels_picture
from trainer.step import Batch

Evaluate = Callable[[Batch], tuple[dict[str, tf.Tensor], Decoded]]


class Validated(NamedTuple):
    """Losses by name, and pictures by name with values in [0, 1]."""

    losses: dict[str, float]
    pictures: dict[str, np.ndarray]


def validate(
    batches: Iterable[Batch], *, step: Callable[[Batch], tuple[dict[str, tf.Tensor], Decoded]]
) -> Validated | None:
    """Losses over all batches, each weighted by its valid frames; None without a batch."""
    sums: dict[str, float] = {}
    total, first = 0.0, None
    for batch in batches:
        losses, decoded = step(batch)
        weight = float(tf.reduce_sum(batch["frames"]))
        total += weight
        for name, value in losses.items():
            sums[name] = sums.get(name, 0.0) + weight * float(value)
        first = first or (batch, decoded)
    if first is None:
        return None
    return Validated({name: value / total for name, value in sums.items()}, _pictures(*first))


def _pictures(batch: Batch, decoded: Decoded) -> dict[str, np.ndarray]:
    """Of a batch's first clip."""
    frames, tokens = int(batch["frames"][0]), int(batch["token_counts"][0])
    r = decoded.mel.shape[1] // decoded.alignment.shape[1]
    target, predicted = (np.asarray(mel[0, :frames], np.float32) for mel in (batch["mel"], decoded.mel))
    return {
        "target_over_prediction": mels_picture(target, predicted),
        "alignment": alignment_picture(np.asarray(decoded.alignment[0])[: -(-frames // r), :tokens]),
    }
