"""Two devices give the losses, updates and weights of one; gradients are weighted by frames."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from shared.errors import UserError
from tests.trainer.replicated_training import STEPS
from trainer.distributed.collectives import Hosts
from trainer.distributed.devices import Devices

TIMEOUT_S = 900

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict:
    """Return the results of a process with two logical CPU devices."""
    return train("", "float16", "compiled")


def train(*variants: str) -> dict:
    command = [sys.executable, "-m", "tests.trainer.replicated_training", *variants]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("how", "of_figures", "of_weights"), [("", 2e-4, 1e-3), (" compiled", 2e-4, 1e-3), (" float16", 5e-4, 1e-2)]
)
def test_two_devices_give_the_losses_gradients_and_weights_of_one(
    found: dict, how: str, of_figures: float, of_weights: float
) -> None:
    """Three clips on one device, two and an empty row on the other; equal noise for all."""
    check_equal(found, how, of_figures=of_figures, of_weights=of_weights)


def check_equal(found: dict, how: str, *, of_figures: float, of_weights: float) -> None:
    alone, shared = found[f"one{how}"], found[f"two{how}"]
    for one, two in zip(alone["values"], shared["values"], strict=True):
        assert one.keys() == two.keys()
        for name, value in one.items():
            np.testing.assert_allclose(two[name], value, rtol=of_figures, err_msg=name)
    for name, total in alone["sums"].items():
        np.testing.assert_allclose(shared["sums"][name], total, rtol=of_weights, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("how", ["", " compiled", " float16"])
def test_both_devices_hold_the_same_weights_and_state_bit_for_bit(found: dict, how: str) -> None:
    check_copies(found, how)


def check_copies(found: dict, how: str) -> None:
    assert found[f"two{how}"]["copies"] > 2 * 100
    assert found[f"two{how}"]["copies differ"] == 0


@pytest.mark.parametrize("way", ["one", "two", "one compiled", "two compiled"])
def test_a_nonfinite_step_on_one_device_is_skipped_on_both(found: dict, way: str) -> None:
    applied = [values["applied"] for values in found[way]["values"]]
    assert applied == [1.0] * (STEPS - 1) + [0.0]
    assert found[way]["sums"]["skipped"] == 1


def test_a_loss_scale_that_is_too_large_is_lowered_on_both_devices_as_on_one(found: dict) -> None:
    """Gradients overflow with it and the loss does not: the batch is not at fault."""
    for way in ("one float16", "two float16"):
        values = found[way]["values"]
        assert [one["applied"] for one in values] == [0.0, 1.0, 1.0, 0.0]
        assert [one["loss_scale"] for one in values] == [2.0**24, *[2.0**15] * 3]  # by the half of 2^24
        assert found[way]["sums"]["loss_scale"] == 2.0**15
        assert found[way]["sums"]["skipped"] == 1


@pytest.mark.soak
def test_two_devices_train_in_bfloat16_as_one() -> None:
    """Make test has float16, which also scales the loss."""
    found = train("bfloat16")
    check_equal(found, " bfloat16", of_figures=5e-3, of_weights=6e-2)
    check_copies(found, " bfloat16")


def test_each_shape_is_traced_once(found: dict) -> None:
    assert {way["programs"] for way in found.values()} == {1}


@pytest.mark.parametrize("is_compiled", [False, True])
def test_every_part_of_a_step_is_compiled_with_xla(found: dict, is_compiled: bool) -> None:
    alone, shared = (found[f"{way}{' compiled' * is_compiled}"]["is_compiled"] for way in ("one", "two"))
    assert alone == dict.fromkeys(("program", "update"), is_compiled)
    assert shared == dict.fromkeys(("prepare", "differentiate", "update"), is_compiled)


def test_a_broken_all_reduce_ends_the_run_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def aborted() -> None:
        raise tf.errors.InternalError(None, None, "Collective ops is aborted by: out of memory\nmore")

    devices = Devices(Hosts())
    devices.check_all_reduce()
    devices.strategy = tf.distribute.MirroredStrategy(["/CPU:0"])
    devices.check_all_reduce()
    monkeypatch.setattr("trainer.distributed.devices._sum_of_ones", aborted)
    with pytest.raises(
        UserError, match=r"all-reduce no longer works in this process .*out of memory\); the reduced batch"
    ):
        devices.check_all_reduce()
