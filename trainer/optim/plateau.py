"""Detects plateaus of the validation loss, and decides what to do: a pure function over a state for checkpoints.

loss ╲                  no new best by `min_delta` for `patience` validations: a plateau
      ╲___  ___ ___     1st, 2nd, …: the rate is lowered, or its schedule restarted
          ╲╱   ╲___     after `max_reductions` of them, the next plateau ends the run
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from trainer.config.plateau_config import PlateauConfig

HOW_TO_CONTINUE = "plateau=null, other settings of plateau, or another schedule, and enough steps, train on"


class PlateauState(NamedTuple):
    """The validations so far, as far as the next decision needs them."""

    best: float | None = None
    waited: int = 0  # validations since the best loss, or since the last action
    cooldown: int = 0  # next validations that do not count towards a plateau
    actions: int = 0
    is_over: bool = False  # the last plateau ended the run


class LrAction(NamedTuple):
    """An action on the learning rate, or the end of the run, and its reason."""

    kind: Literal["lower", "restart", "stop"]
    factor: float
    reason: str


def watch_plateau(state: PlateauState, loss: float, *, config: PlateauConfig) -> tuple[PlateauState, LrAction | None]:
    """Take a validation loss into account.

    A non-finite loss is no improvement. During the cooldown an improvement counts, and its absence does not.

    Returns:
        The next state, and an action if there is a plateau.
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
            "stop", 1.0, f"{seen}, after {state.actions} actions: the run ends; {HOW_TO_CONTINUE}"
        )
    doing = (
        "the learning rate is lowered" if config.action == "lower" else "the schedule is restarted, its peak lowered"
    )
    reason = f"{seen}: {doing} to {config.factor:g} of what it was (action {actions} of {config.max_reductions})"
    changed = state._replace(waited=0, cooldown=config.cooldown, actions=actions)
    return changed, LrAction(config.action, config.factor, reason)
