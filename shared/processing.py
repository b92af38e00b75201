"""Settings of the optional audio processing before the mel: trimming, loudness, peak limit. All are off by default.

Each step changes the content of the shards. The settings are therefore part of the contract, and a reference clip at
inference goes through the same steps.
"""

from __future__ import annotations

import pydantic

from shared.config import Config


class Processing(Config):
    """The section `processing`: optional steps, in this order; None leaves a step out."""

    trim_db: float | None = pydantic.Field(None, gt=0, le=120)  # cut edges this far below the loudest frame
    trim_margin_s: float = pydantic.Field(0.05, ge=0, le=5)  # kept of each edge that is cut
    loudness_lufs: float | None = pydantic.Field(None, ge=-70, le=0)  # integrated loudness, ITU-R BS.1770
    max_peak: float | None = pydantic.Field(None, gt=0, le=1)  # louder clips are scaled down to it

    @property
    def steps(self) -> list[str]:
        """The names of the steps that are on."""
        return [name for name in ("trim_db", "loudness_lufs", "max_peak") if getattr(self, name) is not None]

    @property
    def description(self) -> str:
        """The steps that are on, with their settings, for messages."""
        return ", ".join(f"{name} {getattr(self, name):g}" for name in self.steps) or "no processing"
