"""Plateaus of a validation loss: when they are seen, what is done, and that nothing is forgotten in between."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.config.plateau_config import PlateauConfig
from trainer.optim.plateau import LrAction, PlateauState, watch_plateau

CONFIG = PlateauConfig(patience=3, cooldown=1, max_reductions=2, factor=0.5, min_delta=0.01)


def watched(losses: list[float], config: PlateauConfig = CONFIG) -> list[LrAction | None]:
    """The action after each loss; the state goes through JSON in between, as through a checkpoint."""
    state, found = PlateauState(), []
    for loss in losses:
        state, action = watch_plateau(PlateauState(*json.loads(json.dumps(state))), loss, config=config)
        found.append(action)
    return found


def kinds(losses: list[float], config: PlateauConfig = CONFIG) -> dict[int, str]:
    return {number: action.kind for number, action in enumerate(watched(losses, config)) if action}


def test_a_flat_loss_is_acted_on_after_its_patience_then_after_settling_and_ends_the_run() -> None:
    # the best at 0; 1, 2, 3; 4 settles, 5, 6, 7; 8 settles, 9, 10, 11
    assert kinds([1.0] * 12) == {3: "lower", 7: "lower", 11: "stop"}


def test_a_loss_that_falls_is_left_alone() -> None:
    assert kinds([0.98**number for number in range(200)]) == {}


def test_a_gain_that_is_too_small_is_none() -> None:
    assert kinds([1.0, 0.995, 0.992, 0.991]) == {3: "lower"}
    assert kinds([1.0, 0.995, 0.992, 0.989]) == {}


def test_small_gains_that_add_up_count_once_they_are_enough() -> None:
    losses = [1.0 - 0.004 * number for number in range(60)]
    assert kinds(losses) == {}


def test_a_negative_loss_is_judged_by_its_size() -> None:
    assert kinds([-1.0, -1.005, -1.009, -1.002]) == {3: "lower"}
    assert kinds([-1.0, -1.02, -1.04, -1.06, -1.08, -1.1, -1.12]) == {}


def test_losses_that_are_no_numbers_are_no_gains() -> None:
    assert kinds([1.0, np.nan, np.inf, -np.inf]) == {3: "lower"}
    assert kinds([np.nan] * 3) == {2: "lower"}


def test_a_restart_says_so_and_why() -> None:
    action = watched([2.0] * 4, CONFIG.model_copy(update={"action": "restart"}))[-1]
    assert action is not None
    assert (action.kind, action.factor) == ("restart", 0.5)
    assert "in 3 validations no loss 1.0% below the best, 2.0000" in action.reason
    assert "action 1 of 2" in action.reason


def test_without_any_actions_the_first_plateau_ends_the_run() -> None:
    assert kinds([1.0] * 4, CONFIG.model_copy(update={"max_reductions": 0})) == {3: "stop"}


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=60), st.integers(1, 5), st.integers(0, 3))
def test_there_is_never_an_action_within_the_patience_of_a_gain(losses: list[float], patience: int, most: int) -> None:
    config = PlateauConfig(patience=patience, cooldown=0, max_reductions=most, min_delta=0.0)
    found = watched(losses, config)
    best, gained = float("inf"), 0
    for number, (loss, action) in enumerate(zip(losses, found, strict=True)):
        if loss < best:
            best, gained = loss, number
        if action:
            assert number - gained >= patience
            assert (number - gained) % patience == 0
    acted = [action.kind for action in found if action]
    assert acted[:most] == ["lower"] * len(acted[:most])
    assert set(acted[most:]) <= {"stop"}


@pytest.mark.parametrize("field", ["patience", "factor", "min_delta"])
def test_settings_out_of_range_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        PlateauConfig.model_validate({field: -1})
