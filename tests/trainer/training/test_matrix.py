"""Every combination of XLA, precision, accumulation, rematerialisation and style tokens trains, and trains the same.

All combinations run on a model of every part of `nano`, one layer of width 16 each: 48 programs of `nano` itself would
take too long to compile. `nano` itself runs in ways among which each two choices meet, and with everything at once.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Future

import numpy as np
import pytest

from tests.trainer.combining import ADAPTIVE, ALL, EVERY_PAIR, OF_NANO, ROTARY, UPDATES, Way

# of losses, of all gradients together, and of those of any one variable; half precisions have 8 and 11 bits
TOLERANCES = {"float32": (1e-5, 1e-5, 1e-4), "bfloat16": (0.01, 0.05, 0.2), "float16": (0.005, 0.01, 0.05)}

pytestmark = pytest.mark.slow

Combined = dict[str, dict[Way, dict]]


@pytest.fixture(scope="session")
def combined(beside: dict[str, Future[Combined]]) -> Combined:
    """What each way came to, by the model's size."""
    return beside["combined"].result()


def check_that_it_trains(found: dict) -> None:
    losses = [values["loss"] for values in found["losses"]]
    assert len(losses) == UPDATES
    assert all(np.isfinite(list(values.values())).all() for values in found["losses"])
    assert (np.diff(losses) < 0).all()
    assert found["without_gradient"] == []
    assert found["unmoved"] == []
    assert found["not_finite"] == []
    assert found["skipped"] == 0
    assert found["programs"] == 1


def check_that_it_is_the_same(found: dict, wanted: dict, *, precision: str) -> None:
    of_loss, of_all, of_one = TOLERANCES[precision]
    first, wanted_first = found["losses"][0], wanted["losses"][0]
    for name in ("loss", "mel", "kl", "flux", "stop", "guided_attention"):
        assert first[name] == pytest.approx(wanted_first[name], rel=of_loss), name
    # AdamW goes by the signs of gradients, however small: from here on the weights differ, and the parts with them
    for values, others in zip(found["losses"], wanted["losses"], strict=True):
        assert values["loss"] == pytest.approx(others["loss"], rel=of_loss)
    assert found["gradient_distance"] < of_all
    assert found["largest_gradient_distance"] < of_one


@pytest.mark.parametrize("way", ALL + ROTARY, ids=str)
def test_every_combination_trains_every_weight_by_one_program(combined: Combined, way: Way) -> None:
    check_that_it_trains(combined["narrow"][way])
    assert combined["narrow"][way]["is_compiled"] == way.xla


@pytest.mark.parametrize("way", ALL + ROTARY, ids=str)
def test_no_combination_changes_losses_or_gradients(combined: Combined, way: Way) -> None:
    check_that_it_is_the_same(combined["narrow"][way], combined["narrow"][way.witness], precision=way.precision)


@pytest.mark.parametrize("way", ADAPTIVE, ids=str)
def test_weights_that_adapt_go_with_every_precision(combined: Combined, way: Way) -> None:
    found, wanted = combined["narrow"][way], combined["narrow"][way.witness]
    assert found["is_compiled"] == way.xla
    assert (found["programs"], found["skipped"]) == (1, 0)
    assert found["without_gradient"] == found["unmoved"] == found["not_finite"] == []
    tolerance = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}[way.precision]
    of_voices = ["voice", "voice_weight"] if way.voice else []
    for name in ("loss", "mel_weight", "kl_weight", "stop_weight", *of_voices):
        assert found["losses"][0][name] == pytest.approx(wanted["losses"][0][name], rel=tolerance), name


def test_any_two_choices_meet_in_nano() -> None:
    for one, other in itertools.combinations(range(len(Way._fields)), 2):
        assert {(way[one], way[other]) for way in EVERY_PAIR} == {(way[one], way[other]) for way in ALL}


@pytest.mark.parametrize("way", OF_NANO, ids=str)
def test_nano_trains_as_float32_alone_does(combined: Combined, way: Way) -> None:
    check_that_it_trains(combined["nano"][way])
    check_that_it_is_the_same(combined["nano"][way], combined["nano"][way.witness], precision=way.precision)
