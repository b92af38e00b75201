"""An interrupted validation is made up for, also that of the last step; with a toy model."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from tests.commands import Outcome
from tests.trainer import toy
from tests.trainer.toy import EvalStep
from trainer.checkpoint.checkpoint import find_checkpoint, list_checkpoints

SETTINGS = (
    *("steps=4", "log_every=1", "validate_every=2", "checkpoint_every=2", "synthesis_eval.clips=0"),
    *("input.buckets=2", "input.global_frames_per_batch=3000"),
)


@pytest.fixture
def train(command: Callable, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command; `disturb` is called with the number of each validation batch."""

    def run(*overrides: str, disturb: Callable[[int], None] = lambda _: None) -> Outcome:
        class Disturbed(EvalStep):
            calls = 0

            def __call__(self, batch: dict) -> SimpleNamespace:
                self.calls += 1
                disturb(self.calls)
                return super().__call__(batch)

        toy.put_in(monkeypatch.setattr, EvalStep=Disturbed)
        words = ["train", "configs/train_sample.yaml", *SETTINGS, *overrides]
        return command(*words, "--data", data, "--run", tmp_path)

    return run


def steps(run: Path) -> dict[str, list[int]]:
    """Return the logged steps of one kind."""
    found: dict[str, list[int]] = {"train": [], "validation": []}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        found[json.loads(line)["kind"]].append(json.loads(line)["step"])
    return found


def leave() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.2)  # for the thread that notes it


def run_out() -> None:
    raise tf.errors.ResourceExhaustedError(None, None, "out of memory while trying to allocate")


@pytest.fixture
def batches(train: Callable, tmp_path: Path) -> int:
    """A validation batch; the run is at step 2."""
    calls: list[int] = []
    assert train("steps=2", disturb=calls.append).code == 0
    return len(calls)


@pytest.mark.slow
def test_an_interrupted_validation_of_the_last_step_is_done_by_the_next_start(
    train: Callable, batches: int, tmp_path: Path
) -> None:
    outcome = train(disturb=lambda call: leave() if call == 1 else None)
    assert outcome.code == 128 + signal.SIGTERM, outcome.err
    assert steps(tmp_path) == {"train": [1, 2, 3, 4], "validation": [2]}
    # again, during the pending validation
    outcome = train(disturb=lambda call: leave() if call == 1 else None)
    assert outcome.code == 128 + signal.SIGTERM, outcome.err
    assert steps(tmp_path)["validation"] == [2]
    outcome = train()
    assert outcome.code == 0, outcome.err
    assert "step 4, the pending validation is done" in outcome.out
    assert steps(tmp_path) == {"train": [1, 2, 3, 4], "validation": [2, 4]}
    assert find_checkpoint(tmp_path, "best").step == 4
    outcome = train()
    assert "nothing left to do: raise steps to train on" in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize("last", [4, pytest.param(5, marks=pytest.mark.soak)])
def test_a_validation_that_does_not_fit_runs_with_fewer_clips(
    train: Callable, batches: int, last: int, tmp_path: Path
) -> None:
    outcome = train(f"steps={last}", disturb=lambda call: run_out() if call == 1 else None)
    assert outcome.code == 0, outcome.err
    assert "out of memory in bucket" in outcome.err
    assert steps(tmp_path) == {
        "train": list(range(1, last + 1)),
        "validation": [2, 4] if last == 4 else [2, 4, 5],
    }
    assert re.search(rf"step {last}, loss \d", outcome.out)


@pytest.mark.slow
def test_a_plateau_found_by_a_pending_validation_ends_the_run_without_another_step(
    train: Callable, batches: int, tmp_path: Path
) -> None:
    settings = ("steps=9", "validate_every=1", "plateau={patience: 1, cooldown: 0, max_reductions: 0, min_delta: 0.9}")
    outcome = train(*settings, disturb=lambda call: leave() if call == batches + 1 else None)
    assert outcome.code == 128 + signal.SIGTERM, outcome.err
    assert steps(tmp_path) == {"train": [1, 2, 3, 4], "validation": [2, 3]}
    outcome = train(*settings)
    assert outcome.code == 0, outcome.err
    assert "actions: the run ends; plateau=null, other settings" in " ".join(outcome.err.split())
    assert steps(tmp_path) == {"train": [1, 2, 3, 4], "validation": [2, 3, 4]}
    assert "nothing left to do: a plateau ended the run; plateau=null, other settings" in train(*settings).out
    assert train("steps=5").code == 0
    assert steps(tmp_path)["train"] == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_kill_during_a_validation_loses_no_step_if_a_checkpoint_was_due(
    train: Callable, batches: int, tmp_path: Path
) -> None:
    def fail(call: int) -> None:
        if call == 1:
            raise SystemError("as a kill")

    with pytest.raises(SystemError):
        train(disturb=fail)
    assert list_checkpoints(tmp_path)[-1].step == 4
    outcome = train()
    assert outcome.code == 0, outcome.err
    assert "step 4, the pending validation is done" in outcome.out
    assert steps(tmp_path) == {"train": [1, 2, 3, 4], "validation": [2, 4]}
