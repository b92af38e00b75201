"""kill -9 at random moments of training, also while saving: the run ends as if undisturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import pytest
import safetensors
import safetensors.numpy

from tests.trainer.device_runs import begin_training, said_at_end
from trainer.checkpoint.checkpoint_files import list_checkpoints

TIMEOUT_S = 600
VALIDATION = 10  # steps
VALIDATION_FIELDS = ("validation_pending", "best_score", "best_step", "plateau")  # of a checkpoint's progress
SETTINGS = (
    *("log_every=1", f"validate_every={VALIDATION}", "checkpoint_every=3", "synthesis_eval.clips=0"),
    "plateau={patience: 2, cooldown: 1, max_reductions: 1000, factor: 0.95, action: restart}",
    *(
        "input.buckets=2",
        "input.global_frames_per_batch=800",
        "input.chunk_bytes=1000000",
        "optimizer.learning_rate=0.001",
    ),
)

# of the real network, narrow; a step takes 50 ms, and to make its graph takes seconds
REAL_STEPS, REAL_VALIDATION = 18, 6
REAL = (
    *(
        f"validate_every={REAL_VALIDATION}",
        "checkpoint_every=1",
        f"kept_checkpoints={REAL_STEPS}",
        "synthesis_eval.clips=0",
    ),
    *("recovery.probe_memory=false", "input.max_frames=200"),
)


class Lives:
    """Runs trainings, one after another."""

    def __init__(self, data: Path, pipes: tuple[IO[str], IO[str]]):
        self._data, (self._words, self._told) = data, pipes

    def start(self, run: Path, *overrides: str) -> int:
        """Return the process id."""
        words = ["configs/train_sample.yaml", *SETTINGS, *overrides, "--data", str(self._data), "--run", str(run)]
        self._words.write(json.dumps(words) + "\n")
        self._words.flush()
        return int(self._told.readline())

    def end(self) -> int:
        """Return the exit code."""
        return int(self._told.readline())


@pytest.fixture(scope="module")
def lives(data: Path) -> Iterator[Lives]:
    words = [sys.executable, "-m", "tests.trainer.toy"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Lives(data, (process.stdin, process.stdout))
        process.stdin.close()


def losses(run: Path) -> list[tuple[str, int, float]]:
    """Return the logged losses of training and validation."""
    path = run / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = (json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return [(row["kind"], row["step"], row["loss"]) for row in rows]


def has_logged(run: Path, steps: int) -> bool:
    return len(losses(run)) >= steps


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.0002)


def is_saving(run: Path) -> bool:
    return any(name.endswith(".tmp") for name in os.listdir(run / "checkpoints"))  # noqa: PTH208 (it is in a hurry)


def progress(path: Path) -> dict:
    with safetensors.safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["progress"])


def check_same(path: Path, other: Path, *, but: Sequence[str] = ()) -> None:
    """Check that two checkpoints have the same arrays and the same progress, but for some fields of it."""
    one_progress, other_progress = ({**progress(one), **dict.fromkeys(but)} for one in (path, other))
    assert one_progress == other_progress
    one, two = map(safetensors.numpy.load_file, (path, other))
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in two.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "steps"), [(2, 80), pytest.param(20, 400, marks=pytest.mark.soak)])
def test_a_training_killed_many_times_goes_on_as_if_undisturbed(
    lives: Lives, tmp_path: Path, kills: int, steps: int
) -> None:
    chance, killed, halves, length = random.Random(4), tmp_path / "killed", 0, f"steps={steps}"
    lives.start(tmp_path / "whole", length, f"kept_checkpoints={steps}")
    assert lives.end() == 0
    whole = losses(tmp_path / "whole")
    assert [step for kind, step, _ in whole if kind == "train"] == list(range(1, steps + 1))
    assert [step for kind, step, _ in whole if kind == "validation"] == list(range(VALIDATION, steps + 1, VALIDATION))
    for life in range(kills):
        expected = len(losses(killed)) + chance.randint(4, 16)
        process = lives.start(killed, length)
        wait_until(partial(has_logged, killed, expected))
        if life % 2:
            wait_until(partial(is_saving, killed))
        os.kill(process, signal.SIGKILL)
        assert lives.end() == -signal.SIGKILL
        halves += is_saving(killed)
        found = losses(killed)
        assert found == whole[: len(found)]
    print(f"{kills} kills, of which {halves} left a checkpoint half written; {found[-1][1]} of {steps} steps")
    assert halves >= kills // 4
    assert found[-1][1] < steps
    left = leave(lives, killed, length)
    assert left == whole[: len(left)]
    same = {saved.step: saved.path for saved in list_checkpoints(tmp_path / "whole")}
    # a checkpoint of a step that is to be validated is written before its validation; a training that is killed then
    # goes on from it, and writes it again with what the validation found
    common = [saved for saved in list_checkpoints(killed) if saved.step in same and saved.step % VALIDATION]
    check_same(common[-1].path, same[common[-1].step])
    validated = {step: loss for kind, step, loss in left if kind == "validation"}
    best = killed / "checkpoints" / "best.safetensors"
    assert progress(best)["step"] == min(validated, key=lambda step: validated[step])
    check_same(best, same[progress(best)["step"]], but=VALIDATION_FIELDS)


def leave(lives: Lives, run: Path, *overrides: str) -> list[tuple[str, int, float]]:
    """Resume a training until it ends, and return its log."""
    process = lives.start(run, *overrides)
    wait_until(partial(has_logged, run, len(losses(run)) + 4))
    os.kill(process, signal.SIGTERM)
    assert lives.end() == 128 + signal.SIGTERM
    return losses(run)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [("xla=false", "model.precision=float32"), ("xla=true", "model.precision=bfloat16")])
def test_a_killed_real_network_goes_on_as_if_undisturbed(data: Path, tmp_path: Path, kind: tuple[str, str]) -> None:
    """Weights, EMA weights and noise match; killed while saving, then in the first validation, which takes seconds to
    trace. In `make test` the real network is resumed from a copy of its folder (test_train.py), the toy is killed."""
    whole, killed, chance = tmp_path / "whole", tmp_path / "killed", random.Random(4)
    undisturbed = begin_real(data, *kind, run=whole)
    # the third loss is logged after the first checkpoint is written
    kill_real(begin_real(data, *kind, run=killed), run=killed, expected=chance.randint(3, 5), while_saving=True)
    assert is_saving(killed)
    kill_real(begin_real(data, *kind, run=killed), run=killed, expected=REAL_VALIDATION)
    assert losses(killed)[-1][:2] == ("train", REAL_VALIDATION)
    said = said_at_end(begin_real(data, *kind, run=killed))
    said_at_end(undisturbed)
    assert "resuming after step 0," not in said
    assert losses(killed) == losses(whole)
    assert [(name, step) for name, step, _ in losses(killed) if name == "validation"] == [
        ("validation", step) for step in range(REAL_VALIDATION, REAL_STEPS + 1, REAL_VALIDATION)
    ]
    check_same(list_checkpoints(killed)[-1].path, list_checkpoints(whole)[-1].path)
    check_same(*(run / "checkpoints" / "best.safetensors" for run in (killed, whole)))


def begin_real(data: Path, *overrides: str, run: Path) -> subprocess.Popen[str]:
    return begin_training(data, *REAL, *overrides, run=run, devices=1, steps=REAL_STEPS)


def kill_real(process: subprocess.Popen[str], *, run: Path, expected: int, while_saving: bool = False) -> None:
    """Kill after a number of logged losses; if during saving, stop the process first to check that it is saving."""
    wait_until(lambda: process.poll() is not None or has_logged(run, expected))
    while while_saving:
        wait_until(lambda: process.poll() is not None or is_saving(run))
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if process.poll() is not None or is_saving(run):
            break
        process.send_signal(signal.SIGCONT)
    process.kill()
    _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err[-3000:]
