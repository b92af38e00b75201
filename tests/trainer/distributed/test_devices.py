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
FOUND = "compiled float16"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict:
    """The losses, weights and copies of one device and of two: compiled, in float16, which has a loss scale.

    The two devices also add up gradients of micro-batches and compute activations again.
    """
    return train(FOUND)


def train(*variants: str) -> dict:
    """Return the results of a process with two logical CPU devices."""
    command = [sys.executable, "-m", "tests.trainer.replicated_training", *variants]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


def test_two_devices_give_the_losses_gradients_and_weights_of_one(found: dict) -> None:
    """Three clips on one device, two and an empty row on the other; equal noise for all."""
    check_equal(found, f" {FOUND}", of_figures=5e-4, of_weights=1e-2)


def check_equal(found: dict, how: str, *, of_figures: float, of_weights: float) -> None:
    alone, shared = found[f"one{how}"], found[f"two{how}"]
    for one, two in zip(alone["values"], shared["values"], strict=True):
        assert one.keys() == two.keys()
        for name, value in one.items():
            np.testing.assert_allclose(two[name], value, rtol=of_figures, err_msg=name)
    for name, total in alone["sums"].items():
        np.testing.assert_allclose(shared["sums"][name], total, rtol=of_weights, atol=1e-5, err_msg=name)


def test_both_devices_hold_the_same_weights_and_state_bit_for_bit(found: dict) -> None:
    check_copies(found, f" {FOUND}")


def check_copies(found: dict, how: str) -> None:
    assert found[f"two{how}"]["copies"] > 2 * 100
    assert found[f"two{how}"]["copies differ"] == 0


@pytest.mark.parametrize("way", [f"one {FOUND}", f"two {FOUND}"])
def test_a_nonfinite_step_on_one_device_is_skipped_on_both_and_the_scale_falls(found: dict, way: str) -> None:
    """In the first step gradients overflow with the scale, and the loss does not: the batch is not at fault."""
    values = found[way]["values"]
    assert [one["applied"] for one in values] == [0.0, 1.0, 1.0, 0.0]
    assert [one["loss_scale"] for one in values] == [2.0**24, *[2.0**15] * 3]  # by the half of 2^24
    assert found[way]["sums"]["loss_scale"] == 2.0**15
    assert found[way]["sums"]["skipped"] == 1


@pytest.mark.soak
@pytest.mark.parametrize(
    ("variant", "of_figures", "of_weights"),
    [("", 2e-4, 1e-3), ("compiled", 2e-4, 1e-3), ("bfloat16", 5e-3, 6e-2), ("float16", 5e-4, 1e-2)],
)
def test_two_devices_train_as_one_in_every_other_way(variant: str, of_figures: float, of_weights: float) -> None:
    """`make test` has compiled float16 here, and graphs in float32 in test_several_devices."""
    found, how = train(variant), f" {variant}".rstrip()
    check_equal(found, how, of_figures=of_figures, of_weights=of_weights)
    check_copies(found, how)
    check_parts(found, how)
    first = 0.0 if variant == "float16" else 1.0  # its gradients overflow with the scale of the first step
    for way in (f"one{how}", f"two{how}"):
        assert [values["applied"] for values in found[way]["values"]] == [first, *[1.0] * (STEPS - 2), 0.0]
        assert found[way]["sums"]["skipped"] == 1


def test_every_part_of_a_step_is_one_program_and_compiled_if_that_is_asked_for(found: dict) -> None:
    check_parts(found, f" {FOUND}")


def check_parts(found: dict, how: str) -> None:
    assert {way["programs"] for way in found.values()} == {1}
    is_compiled = "compiled" in how
    assert found[f"one{how}"]["is_compiled"] == dict.fromkeys(("program", "update"), is_compiled)
    assert found[f"two{how}"]["is_compiled"] == dict.fromkeys(("prepare", "differentiate", "update"), is_compiled)


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
