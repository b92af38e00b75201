"""Settings of the learning-rate schedules; `trainer/optim/schedules.py` computes them.

constant  ╭──────   noam  ╭╮__    cosine  ╭─╮      cosine_restarts  ╭╮ ╷╮      trapezoid  ╭────╮
         ╱               ╱   ──          ╱   ╰──                   ╱ ╰─╵╰─               ╱      ╲
"""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic

from shared.config import Config


class Constant(Config):
    """The peak rate from the end of the warm-up on."""

    kind: Literal["constant"] = "constant"


class Noam(Config):
    """Decay with the inverse square root of the step (Vaswani et al., 2017, section 5.3)."""

    kind: Literal["noam"] = "noam"


class Cosine(Config):
    """Half a cosine down to a fraction of the peak, then constant (Loshchilov & Hutter, 2017, without restarts)."""

    kind: Literal["cosine"] = "cosine"
    steps: int | None = pydantic.Field(None, ge=1)  # length of the decay; None: to the run's last step
    final_fraction: float = pydantic.Field(0.05, ge=0, le=1)  # fraction of the peak at the end


class CosineRestarts(Config):
    """Half cosines one after another (SGDR: Loshchilov & Hutter, 2017), each with a lower peak than the one before."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    steps: int = pydantic.Field(8_000, ge=1)  # length of each half cosine
    amplitude: float = pydantic.Field(0.8, gt=0, le=1)  # ratio of each amplitude to the one before it
    final_fraction: float = pydantic.Field(0.01, ge=0, le=1)  # fraction of the peak at the foot of each half cosine


class Trapezoid(Config):
    """The peak rate, then a decay as 1 − √progress over the run's last part (Hägele et al., 2024, arXiv:2405.18392)."""

    kind: Literal["trapezoid"] = "trapezoid"
    cooldown: float = pydantic.Field(0.2, gt=0, le=1)  # share of the steps after the warm-up
    final_fraction: float = pydantic.Field(0.0, ge=0, le=1)  # fraction of the peak at the end


Schedule = Annotated[Constant | Noam | Cosine | CosineRestarts | Trapezoid, pydantic.Field(discriminator="kind")]
