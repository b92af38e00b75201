"""Training on two devices: the losses, updates and weights of one device, gradients weighed by frames."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from shared.errors import UserError
from tests.trainer.replicating import STEPS
from trainer.devices import Devices
from trainer.hosts import Hosts

TIMEOUT_S = 900

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict:
    """What a process with two logical CPU devices found."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.trainer.replicating"], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


TWO = pytest.mark.parametrize("how", ["", " compiled"])


@TWO
def test_two_devices_give_the_losses_gradients_and_weights_of_one(found: dict, how: str) -> None:
    """Three clips on one, two and an empty row on the other; the same draws for all."""
    alone, shared = found[f"one{how}"], found[f"two{how}"]
    for one, two in zip(alone["values"], shared["values"], strict=True):
        assert one.keys() == two.keys()
        for name, value in one.items():
            np.testing.assert_allclose(two[name], value, rtol=2e-4, err_msg=name)
    for name, total in alone["sums"].items():
        np.testing.assert_allclose(shared["sums"][name], total, rtol=1e-3, atol=1e-5, err_msg=name)


@TWO
def test_both_devices_hold_the_same_weights_and_state_bit_for_bit(found: dict, how: str) -> None:
    assert found[f"two{how}"]["copies"] > 2 * 100
    assert found[f"two{how}"]["copies differ"] == 0


@pytest.mark.parametrize("way", ["one", "two", "one compiled", "two compiled"])
def test_what_is_no_number_on_one_device_is_skipped_on_both(found: dict, way: str) -> None:
    applied = [values["applied"] for values in found[way]["values"]]
    assert applied == [1.0] * (STEPS - 1) + [0.0]
    assert found[way]["sums"]["skipped"] == 1


def test_each_shape_is_traced_once(found: dict) -> None:
    assert {way["programs"] for way in found.values()} == {1}


def test_devices_that_no_longer_add_up_end_the_run_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def aborted() -> None:
        raise tf.errors.InternalError(None, None, "Collective ops is aborted by: out of memory\nmore")

    devices = Devices(Hosts())
    devices.check_sums()
    devices.strategy = tf.distribute.MirroredStrategy(["/CPU:0"])
    devices.check_sums()
    monkeypatch.setattr("trainer.devices._sum_of_ones", aborted)
    with pytest.raises(
        UserError, match=r"no longer add up in this process .*out of memory\); what did not fit is noted"
    ):
        devices.check_sums()
