"""How long the texts of each language take to speak, measured on the training clips: bounds for synthesis."""

from __future__ import annotations

import math

import numpy as np
import pydantic

from shared.dataset import Dataset
from trainer.data.manifest_rows import read_manifest_rows

QUANTILE = 0.01  # of the clips of a language that are faster, and as many that are slower
MARGIN = 1.6  # by which speech may be faster or slower than the clips at the quantiles


class SpeechPace(pydantic.BaseModel):
    """The range of frames per token that speech of a language may have."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    min_frames_per_token: float
    max_frames_per_token: float

    @classmethod
    def by_language(cls, dataset: Dataset, *, max_frames: int | None) -> dict[str, SpeechPace]:
        """Measure the training split's clips of at most `max_frames` frames.

        Raises:
            UserError: a manifest is absent or damaged.
        """
        rows = read_manifest_rows(dataset, split="train")
        kept = rows.frames <= (math.inf if max_frames is None else max_frames)
        paces = rows.frames / np.maximum(rows.tokens, 1)
        found = {name: paces[kept & (rows.language.codes == code)] for code, name in enumerate(rows.language.names)}
        return {name: cls._of(values) for name, values in found.items() if len(values)}

    @classmethod
    def _of(cls, paces: np.ndarray) -> SpeechPace:
        fast, slow = np.quantile(paces, [QUANTILE, 1 - QUANTILE])
        return cls(min_frames_per_token=float(fast / MARGIN), max_frames_per_token=float(slow * MARGIN))

    def merged_with(self, older: SpeechPace | None) -> SpeechPace:
        """The range of these clips and of those that the run was trained on before it was resumed."""
        if older is None:
            return self
        return SpeechPace(
            min_frames_per_token=min(self.min_frames_per_token, older.min_frames_per_token),
            max_frames_per_token=max(self.max_frames_per_token, older.max_frames_per_token),
        )


# the pace of a language without a measured clip
ANY_PACE = SpeechPace(min_frames_per_token=0.0, max_frames_per_token=math.inf)
