"""What may be done to a recording before its mel is computed: nothing, unless it is asked for.

Any of these changes what the shards hold, so they are part of the contract, and a reference clip at inference
goes through the same.
"""

from __future__ import annotations

import pydantic

from shared.config import Config


class Processing(Config):
    """Optional steps, in this order; None leaves a step out."""

    trim_db: float | None = pydantic.Field(None, gt=0, le=120)  # edges this far below the loudest frame go
    trim_margin_s: float = pydantic.Field(0.05, ge=0, le=5)  # of the edges that stays
    loudness_lufs: float | None = pydantic.Field(None, ge=-70, le=0)  # integrated loudness, ITU-R BS.1770
    max_peak: float | None = pydantic.Field(None, gt=0, le=1)  # louder clips are scaled down to it

    @property
    def steps(self) -> list[str]:
        """The fields that ask for something."""
        return [name for name in ("trim_db", "loudness_lufs", "max_peak") if getattr(self, name) is not None]
