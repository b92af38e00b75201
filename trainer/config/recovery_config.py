"""Settings of failure handling: non-finite steps, and the memory probe before the first epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pydantic

from shared.config import Config


class RecoveryConfig(Config):
    """The section `recovery`."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "skipped_in_row": "max_nonfinite_steps",
    }

    max_nonfinite_steps: int = pydantic.Field(20, ge=2)  # this many in a row: return to an earlier checkpoint
    rate_factor: float = pydantic.Field(0.5, gt=0, lt=1)  # by which the learning rate is multiplied after the return
    probe_memory: bool | None = None  # run the largest batches before the first epoch; None: on GPUs
