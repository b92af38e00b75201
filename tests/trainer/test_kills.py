"""kill -9 at random moments of training, also amid saving: nothing tells the run from one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import pytest
import safetensors.numpy

from tests.trainer.conftest import built
from trainer.checkpoints import saved_checkpoints

KILLS = 20
STEPS = 400
TIMEOUT_S = 120
SETTINGS = (
    *(f"steps={STEPS}", "log_every=1", "validate_every=1000000", "checkpoint_every=3"),
    *("input.buckets=2", "input.frames_per_batch=800", "input.chunk_bytes=1000000", "optimizer.learning_rate=0.001"),
)


class Lives:
    """Trainings one after another."""

    def __init__(self, data: Path, pipes: tuple[IO[str], IO[str]]):
        self._data, (self._words, self._told) = data, pipes

    def start(self, run: Path, *overrides: str) -> int:
        """The number of the process."""
        words = ["configs/train_sample.yaml", *SETTINGS, *overrides, "--data", str(self._data), "--run", str(run)]
        self._words.write(json.dumps(words) + "\n")
        self._words.flush()
        return int(self._told.readline())

    def end(self) -> int:
        """Its exit code."""
        return int(self._told.readline())


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    data = built(tmp_path_factory.mktemp("sample") / "data", overrides=["validation_fraction=0"])
    words = [sys.executable, "-m", "tests.trainer.toy"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Lives(data, (process.stdin, process.stdout))
        process.stdin.close()


def losses(run: Path) -> list[tuple[int, float]]:
    path = run / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = (json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return [(row["step"], row["loss"]) for row in rows]


def has_logged(run: Path, steps: int) -> bool:
    return len(losses(run)) >= steps


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.0002)


def is_saving(run: Path) -> bool:
    return any(name.endswith(".tmp") for name in os.listdir(run / "checkpoints"))  # noqa: PTH208 (it is in a hurry)


@pytest.mark.slow
def test_a_training_killed_twenty_times_goes_on_as_if_undisturbed(lives: Lives, tmp_path: Path) -> None:
    chance, killed, halves = random.Random(4), tmp_path / "killed", 0
    lives.start(tmp_path / "whole", f"kept_checkpoints={STEPS}")
    assert lives.end() == 0
    whole = losses(tmp_path / "whole")
    assert [step for step, _ in whole] == list(range(1, STEPS + 1))
    for life in range(KILLS):
        wanted = len(losses(killed)) + chance.randint(4, 16)
        process = lives.start(killed)
        wait_until(partial(has_logged, killed, wanted))
        if life % 2:
            wait_until(partial(is_saving, killed))
        os.kill(process, signal.SIGKILL)
        assert lives.end() == -signal.SIGKILL
        halves += is_saving(killed)
        found = losses(killed)
        assert found == whole[: len(found)]
    print(f"{KILLS} kills, of which {halves} left a checkpoint half written; {len(found)} of {STEPS} steps")
    assert halves >= KILLS // 4
    assert len(found) < STEPS
    last = saved_checkpoints(killed)[-1]
    (same,) = (saved for saved in saved_checkpoints(tmp_path / "whole") if saved.step == last.step)
    one, other = (safetensors.numpy.load_file(saved.path) for saved in (last, same))
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
