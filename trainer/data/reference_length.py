"""Chooses how many frames of a reference the model gets for a text, from the lengths of the training clips.

A model that was trained with references from other clips (`input.reference: other`) gets whole crops for every text:
in its training, the length of a crop said nothing about the length of the clip. This does not hold where many clips are
their speaker's only one, because such a clip gets a crop of itself.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pydantic
import tensorflow as tf

from shared.dataset import Dataset
from trainer.config.speech_bounds import MAX_TOKENS
from trainer.data.manifest_rows import read_manifest_rows
from trainer.model.reference_crop import MIN_CROP_SHARE

FAST_QUANTILE = 0.1  # a tenth of the fastest language's clips are spoken faster than the assumed pace

MIN_PARTNERS = 0.95  # share of clips with another clip of their speaker, from which on the others are too few to matter
WHOLE = 1e4  # frames per token, more than any text has: references are used whole


class ReferenceLength(pydantic.BaseModel):
    """Lengths of the clips that a run was trained on."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    tokens: int  # of the longest text; longer ones are new to the model
    frames_per_token: float  # exceeded by nine of ten clips of each language; WHOLE: of no importance

    @classmethod
    def of(
        cls, dataset: Dataset, *, max_frames: int | None, reference: Literal["same", "other", "mixed"] = "same"
    ) -> ReferenceLength:
        """Measure the training split's clips of at most `max_frames` frames.

        Args:
            reference: the clip in which the model hears a voice in training, as `input.reference` says.

        Raises:
            UserError: a manifest is absent or damaged.
        """
        rows = read_manifest_rows(dataset, split="train")
        kept = rows.frames <= (math.inf if max_frames is None else max_frames)
        if not kept.any():
            return cls(tokens=0, frames_per_token=0.0)
        tokens, languages = rows.tokens[kept], rows.language.codes[kept]
        paces = rows.frames[kept] / np.maximum(tokens, 1)
        fast = [np.quantile(paces[languages == language], FAST_QUANTILE) for language in np.unique(languages)]
        is_whole = reference == "other" and _share_with_partner(rows.speaker.codes[kept]) >= MIN_PARTNERS
        return cls(tokens=int(tokens.max()), frames_per_token=WHOLE if is_whole else float(min(fast)))

    def merged_with(self, older: ReferenceLength) -> ReferenceLength:
        """The lengths of these clips and of the clips that the run was trained on before it was resumed."""
        if older.frames_per_token == 0.0 or older == NOT_STORED:
            return self
        return ReferenceLength(
            tokens=max(self.tokens, older.tokens),
            frames_per_token=min(self.frames_per_token, older.frames_per_token),
        )

    def reference_frames(self, tokens: tf.Tensor | int, *, crop_frames: int) -> tf.Tensor:
        """Frames of a reference to use for texts of `tokens` tokens, int32 of the same shape.

        In training, a crop of the clip itself shows at most half of it: C frames tell the model to speak for 2C frames
        or more. With such crops a reference is therefore cut to half of the text's duration at a fast pace, but not
        below the shortest crop of training, and to a multiple of it, so that a voice is encoded for few lengths.
        """
        half = self.frames_per_token / 2 * tf.cast(tokens, tf.float32)
        shortest = max(1, int(MIN_CROP_SHARE * crop_frames))
        return tf.clip_by_value(tf.cast(half, tf.int32) // shortest * shortest, shortest, crop_frames)


def _share_with_partner(speakers: np.ndarray) -> float:
    """The share of clips that are not their speaker's only one, by speakers [rows]."""
    return float(np.mean(np.bincount(speakers)[speakers] > 1))


NOT_STORED = ReferenceLength(tokens=MAX_TOKENS, frames_per_token=WHOLE)  # of a run that has noted nothing
