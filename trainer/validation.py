"""Teacher-forced validation: losses over the split that is not trained on, and pictures of its first clip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from trainer.losses import LossConfig
from trainer.model.decoder import Decoded
from trainer.pictures import alignment_picture, mels_picture
from trainer.step import Batch, Evaluated


class Validated(NamedTuple):
    """Losses by name, and pictures by name with values in [0, 1]."""

    losses: dict[str, float]
    pictures: dict[str, np.ndarray]


def validate(batches: Iterable[Batch], *, step: Callable[[Batch], Evaluated], losses: LossConfig) -> Validated | None:
    """Losses over all batches as if they were one; None without a batch."""
    sums, counts, first = defaultdict[str, float](float), defaultdict[str, float](float), None
    for batch in batches:
        found = step(batch)
        for name, term in found.terms.items():
            sums[name] += float(found.counts[name]) * float(term)
            counts[name] += float(found.counts[name])
        first = first or (batch, found.decoded)
    if first is None:
        return None
    terms = {name: total / max(counts[name], 1.0) for name, total in sums.items()}
    loss = sum(float(weight) * terms[name] for name, weight in losses.weights_at(None).items())
    return Validated({"loss": loss, **terms}, _pictures(*first))


def _pictures(batch: Batch, decoded: Decoded) -> dict[str, np.ndarray]:
    """Of a batch's first clip."""
    frames, tokens = int(batch["frames"][0]), int(batch["token_counts"][0])
    r = decoded.mel.shape[1] // decoded.alignment.shape[1]
    target, predicted = (np.asarray(mel[0, :frames], np.float32) for mel in (batch["mel"], decoded.mel))
    return {
        "target_over_prediction": mels_picture(target, predicted),
        "alignment": alignment_picture(np.asarray(decoded.alignment[0])[: -(-frames // r), :tokens]),
    }
