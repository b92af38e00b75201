"""Every combination of XLA, precision, micro-batches, rematerialisation and style tokens trains to the same losses.

`make test` trains a set of combinations that contains every pair of choices, on a model with all parts of `nano` but
one layer of width 16 each. `make soak` trains all other combinations on that model, and `nano` itself.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import numpy as np
import pytest

from tests.trainer.step_options import (
    ADAPTIVE,
    ADAPTIVE_PRECISIONS,
    ALL,
    EVERY_PAIR,
    NANO,
    REST,
    UPDATES,
    Options,
    train_set,
)

# Relative: of the losses, of all gradients together, and of the gradient of any one variable. One rounding is off by at
# most 6e-8 in float32, 5e-4 in float16, 4e-3 in bfloat16.
TOLERANCES = {"float32": (1e-5, 1e-5, 1e-4), "bfloat16": (0.01, 0.05, 0.2), "float16": (0.005, 0.01, 0.05)}
ADAPTIVE_TOLERANCES = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}
TERMS = ("loss", "mel", "kl", "flux", "stop", "guided_attention")

pytestmark = pytest.mark.slow

Results = dict[Options, dict]


@pytest.fixture(scope="session")
def pairs(background: dict[str, Future[Results]]) -> Results:
    return background["pairs"].result()


@pytest.fixture(scope="session")
def rest() -> Results:
    return train_set("rest")


@pytest.fixture(scope="session")
def nano() -> Results:
    return train_set("nano")


def check_that_it_trains(found: dict, *, options: Options) -> None:
    losses = [values["loss"] for values in found["losses"]]
    assert len(losses) == UPDATES
    assert all(np.isfinite(list(values.values())).all() for values in found["losses"])
    assert (np.diff(losses) < 0).all()
    assert found["without_gradient"] == found["unmoved"] == found["not_finite"] == []
    assert (found["programs"], found["skipped"], found["is_compiled"]) == (1, 0, options.xla)


def check_that_it_is_the_same(found: dict, expected: dict, *, precision: str) -> None:
    """Compare losses and gradients; after the first update only in float32.

    AdamW's first update follows the signs even of tiny gradients, so weights of half precisions diverge there.
    """
    of_loss, of_all, of_one = TOLERANCES[precision]
    for name in TERMS:
        assert found["losses"][0][name] == pytest.approx(expected["losses"][0][name], rel=of_loss), name
    assert found["gradient_distance"] < of_all
    assert found["largest_gradient_distance"] < of_one
    if precision == "float32":
        for values, others in zip(found["losses"], expected["losses"], strict=True):
            assert values["loss"] == pytest.approx(others["loss"], rel=of_loss)


def check_that_weights_adapt(found: dict, expected: dict, *, options: Options) -> None:
    assert (found["programs"], found["skipped"], found["is_compiled"]) == (1, 0, options.xla)
    assert found["without_gradient"] == found["unmoved"] == found["not_finite"] == []
    for name in ("loss", "mel_weight", "kl_weight", "stop_weight"):
        first, wanted = found["losses"][0][name], expected["losses"][0][name]
        assert first == pytest.approx(wanted, rel=ADAPTIVE_TOLERANCES[options.precision]), name


def test_any_two_choices_meet() -> None:
    for one, other in itertools.combinations(range(5), 2):
        assert {(options[one], options[other]) for options in EVERY_PAIR} == {
            (options[one], options[other]) for options in ALL
        }


@pytest.mark.parametrize("options", EVERY_PAIR, ids=str)
def test_a_combination_trains_every_weight_by_one_program_to_the_same_losses(pairs: Results, options: Options) -> None:
    check_that_it_trains(pairs[options], options=options)
    check_that_it_is_the_same(pairs[options], pairs[options.witness], precision=options.precision)


@pytest.mark.parametrize("options", ADAPTIVE, ids=str)
def test_adaptive_weights_go_with_compilation(pairs: Results, options: Options) -> None:
    check_that_weights_adapt(pairs[options], pairs[options.witness], options=options)


def test_the_weight_of_a_term_needs_no_gradient_through_the_whole_model(pairs: Results) -> None:
    assert pairs[ADAPTIVE[0]]["operations"] < 2 * pairs[Options()]["operations"]


@pytest.mark.soak
@pytest.mark.parametrize("options", REST, ids=str)
def test_every_other_combination_trains_to_the_same_losses(rest: Results, options: Options) -> None:
    check_that_it_trains(rest[options], options=options)
    check_that_it_is_the_same(rest[options], rest[options.witness], precision=options.precision)


@pytest.mark.soak
@pytest.mark.parametrize("options", ADAPTIVE_PRECISIONS, ids=str)
def test_adaptive_weights_go_with_every_precision(rest: Results, options: Options) -> None:
    check_that_weights_adapt(rest[options], rest[options.witness], options=options)


@pytest.mark.soak
@pytest.mark.parametrize("options", NANO, ids=str)
def test_nano_trains_in_every_way_to_the_same_losses(nano: Results, options: Options) -> None:
    check_that_it_trains(nano[options], options=options)
    check_that_it_is_the_same(nano[options], nano[options.witness], precision=options.precision)
