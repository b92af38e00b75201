"""A step that runs out of memory changes no weight."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TIMEOUT_S = 600

pytestmark = pytest.mark.soak  # `make test` raises the error that TensorFlow raises, in test_recovery.py


@pytest.mark.parametrize(
    ("devices", "large", "told"),
    [
        (1, 1, "2000×512×8"),
        (2, 2, "2000×512×8"),
        (2, 1, "2×64×8"),
    ],
)
def test_weights_and_moments_outlive_a_step_that_really_finds_no_room_and_the_next_is_as_if_undisturbed(
    devices: int, large: int, told: str
) -> None:
    """Includes one of two devices running out of memory while the other waits in an all-reduce."""
    words = [sys.executable, "-m", "tests.trainer.full_memory", str(devices), str(large)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    assert found["told"] == told
    assert found["after"] == found["before"]
    assert found["next"] == found["undisturbed"] != found["before"]
