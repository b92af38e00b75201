"""How long training's clips are for their texts, and so how much of a reference is heard for a text."""

from __future__ import annotations

import math

import numpy as np
import pydantic
import tensorflow as tf

from shared.dataset import Dataset
from trainer.model.reference_crop import SHORTEST
from trainer.data.manifest_rows import read_rows

FAST = 0.1  # of the fastest language's clips say more in their time than the pace that is reckoned with

UNKNOWN_PACE = 1e4  # of a run that has noted none: references are heard whole


class Lengths(pydantic.BaseModel):
    """Of the clips that training hears; a longer text is new to the model."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    tokens: int  # of the longest text
    frames_per_token: float  # nine of ten clips of each language have more

    @classmethod
    def of(cls, dataset: Dataset, *, max_frames: int | None) -> Lengths:
        """Of the training split's clips of at most so many frames.

        Raises:
            UserError: a manifest is absent or damaged.
        """
        rows = read_rows(dataset, split="train")
        heard = rows.frames <= (math.inf if max_frames is None else max_frames)
        if not heard.any():
            return cls(tokens=0, frames_per_token=0.0)
        tokens, languages = rows.tokens[heard], rows.language.codes[heard]
        paces = rows.frames[heard] / np.maximum(tokens, 1)
        fast = [np.quantile(paces[languages == language], FAST) for language in np.unique(languages)]
        return cls(tokens=int(tokens.max()), frames_per_token=float(min(fast)))

    def with_older(self, older: Lengths) -> Lengths:
        """Of these clips and of those that training heard before it was resumed with these."""
        if older.frames_per_token in (0.0, UNKNOWN_PACE):
            return self
        return Lengths(
            tokens=max(self.tokens, older.tokens),
            frames_per_token=min(self.frames_per_token, older.frames_per_token),
        )

    def heard_frames(self, tokens: tf.Tensor | int, *, crop_frames: int) -> tf.Tensor:
        """How much of a reference is heard for so many tokens, in frames, int32 of their shape.

        A clip of training shows its half at most, so a crop of C frames says that there are 2C to be spoken. No more
        is heard of a reference than half of what the text takes where it is spoken fast, but training's shortest crop.
        """
        half = self.frames_per_token / 2 * tf.cast(tokens, tf.float32)
        return tf.clip_by_value(tf.cast(half, tf.int32), max(1, int(SHORTEST * crop_frames)), crop_frames)
