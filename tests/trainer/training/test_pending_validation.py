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
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from tests.commands import Outcome
from tests.trainer import toy
from tests.trainer.toy import EvalStep
from trainer.checkpoint import async_writer
from trainer.checkpoint.checkpoint import Snapshot, find_checkpoint
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.checkpoint.run_state import RunState

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


@pytest.mark.slow
def test_a_validated_checkpoint_is_written_once_and_becomes_the_best_by_a_second_name(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, write = list[int](), async_writer.write_checkpoint

    def counted(run: Path, snapshot: Snapshot, **options: Any) -> Path:
        written.append(snapshot.progress.step)
        return write(run, snapshot, **options)

    monkeypatch.setattr(async_writer, "write_checkpoint", counted)
    settings = ("steps=7", "optimizer.learning_rate=0.01", "kept_checkpoints=9")
    assert train(*settings).code == 0
    assert written == [0, 2, 4, 6, 7, 7]  # the last step is validated, and saved as done
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = {row["step"]: row["loss"] for row in rows if row["kind"] == "validation"}
    best = min(losses, key=losses.__getitem__)
    assert find_checkpoint(tmp_path, "best").step == best
    names = {one.step: one.path for one in list_checkpoints(tmp_path)}
    assert (tmp_path / "checkpoints" / "best.safetensors").samefile(names[best])


@pytest.mark.slow
def test_a_kill_after_a_validation_repeats_it_and_ends_as_if_undisturbed(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train().code == 0
    whole = tmp_path.rename(tmp_path.with_name("whole"))
    advance = RunState.advance

    def fail(self: RunState, step: int, **options: Any) -> None:
        if step == 3:
            raise SystemError("as a kill")
        advance(self, step, **options)

    with monkeypatch.context() as patch:
        patch.setattr(RunState, "advance", fail)
        with pytest.raises(SystemError):
            train()
    assert list_checkpoints(tmp_path)[-1].step == 2
    assert train().code == 0
    assert steps(tmp_path)["validation"] == [2, 4]  # rows of a step that is repeated are replaced
    for name in ("step-00000004", "best"):
        ends = [safetensors.numpy.load_file(run / "checkpoints" / f"{name}.safetensors") for run in (whole, tmp_path)]
        for variable, value in ends[0].items():
            np.testing.assert_array_equal(ends[1][variable], value)
