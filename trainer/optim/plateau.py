"""A plateau of the validation loss, and what is done about it: pure logic, whose state a checkpoint can hold.

loss ╲                  no new best by `min_delta` for `patience` validations: a plateau
      ╲___  ___ ___     1st, 2nd, …: the rate is lowered, or its schedule restarted
          ╲╱   ╲___     after `max_reductions` of them, the next one ends the run
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from trainer.config.plateau_config import PlateauConfig

WAY_ON = "plateau=null, other settings of plateau, or another schedule, and enough steps, train on"


class PlateauState(NamedTuple):
    """What was seen so far."""

    best: float | None = None
    waited: int = 0  # validations since the best one, or since the last action
    cooldown: int = 0  # validations that will not be judged
    actions: int = 0
    is_over: bool = False  # the last plateau ended the run


class LrAction(NamedTuple):
    """What is to be done, and why."""

    kind: Literal["lower", "restart", "stop"]
    factor: float
    reason: str


def watch_plateau(state: PlateauState, loss: float, *, config: PlateauConfig) -> tuple[PlateauState, LrAction | None]:
    """The state after a raw validation loss, and a remedy where it has come to a plateau.

    A loss that is no number is no gain. While the rate settles a gain counts, and its absence does not.
    """
    if math.isfinite(loss) and (state.best is None or loss < state.best - config.min_delta * abs(state.best)):
        return state._replace(best=loss, waited=0, cooldown=max(0, state.cooldown - 1)), None
    if state.cooldown:
        return state._replace(cooldown=state.cooldown - 1), None
    waited = state.waited + 1
    if waited < config.patience:
        return state._replace(waited=waited), None
    return _act(state, loss, config=config)


def _act(state: PlateauState, loss: float, *, config: PlateauConfig) -> tuple[PlateauState, LrAction]:
    best = "none" if state.best is None else f"{state.best:.4f}"
    seen = (
        f"plateau: in {config.patience} validations no loss {config.min_delta:.1%} below the best, {best} "
        f"(the last one {loss:.4f})"
    )
    actions = state.actions + 1
    if state.actions >= config.max_reductions:
        return state._replace(waited=0, is_over=True), LrAction(
            "stop", 1.0, f"{seen}, after {state.actions} remedies: the run ends; {WAY_ON}"
        )
    doing = "the rate is lowered" if config.action == "lower" else "the schedule begins anew, its peak lowered"
    reason = f"{seen}: {doing} to {config.factor:g} of what it was (remedy {actions} of {config.max_reductions})"
    changed = state._replace(waited=0, cooldown=config.cooldown, actions=actions)
    return changed, LrAction(config.action, config.factor, reason)
