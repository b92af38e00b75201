"""What a run may do on its own when something goes wrong."""

from __future__ import annotations

import pydantic

from shared.config import Config


class RecoveryConfig(Config):
    """When a run goes back, and what it tries first."""

    skipped_in_row: int = pydantic.Field(20, ge=2)  # without an update, as of the last step: back to what is good
    rate_factor: float = pydantic.Field(0.5, gt=0, lt=1)  # of the learning rate from there on
    probe_memory: bool | None = None  # try the largest batch before the first epoch; None: where there is a GPU
