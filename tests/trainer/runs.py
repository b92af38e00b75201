"""`myxtts-train train` as a user runs it, undisturbed and killed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.trainer.processes import begin, build_sample, end, program, xla_flags

STEPS = 40
CHECKPOINT_EVERY = 10
TIMEOUT_S = 3600

OVERRIDES = (
    f"steps={STEPS}",
    "log_every=1",
    "validate_every=1000",
    f"checkpoint_every={CHECKPOINT_EVERY}",
    "kept_checkpoints=2",
    "input.buckets=2",
    "input.global_frames_per_batch=800",
    "input.chunk_bytes=1000000",
    "optimizer.warmup_steps=10",
)


class Ended(NamedTuple):
    """A finished run, and its stderr."""

    run: Path
    stderr: str


class Trained(NamedTuple):
    """The same training twice: undisturbed, and killed in the middle and resumed."""

    data: Path
    undisturbed: Ended
    resumed: Ended
    died_after_step: int
    dump: Path  # XLA's dump of the programs that the undisturbed run compiled


def train_twice(folder: Path) -> Trained:
    """Train in two processes at the same time; the killed one is resumed while the other continues."""
    # no validation clips: validation programs take as long to compile as those of training
    data = build_sample(folder / "data", "validation_fraction=0")
    dump, run = folder / "dump", folder / "undisturbed"
    undisturbed = _start(data, run=run, flags=[f"--xla_dump_to={dump}"])
    died = _train_until_killed(_start(data, run=folder / "killed", flags=[]), run=folder / "killed")
    resumed = Ended(folder / "killed", _end(_start(data, run=folder / "killed", flags=[])))
    return Trained(data, Ended(run, _end(undisturbed)), resumed, died, dump)


def rows(run: Path) -> list[dict]:
    """The rows of training figures."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "train"]


def words(data: Path, *, run: Path) -> list[str]:
    return ["train", "configs/train_sample.yaml", *OVERRIDES, "--data", str(data), "--run", str(run)]


def _start(data: Path, *, run: Path, flags: list[str]) -> subprocess.Popen[str]:
    variables = {"TF_XLA_FLAGS": "", "XLA_FLAGS": xla_flags(*flags), "COLUMNS": "200"}
    return begin([program("myxtts-train"), *words(data, run=run)], environment=variables)


def _train_until_killed(process: subprocess.Popen[str], *, run: Path) -> int:
    """kill -9 some steps after a checkpoint; the last step that was logged."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while _logged_steps(run) < 2 * CHECKPOINT_EVERY + 5 and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
    process.kill()
    ended = end(process, within_s=TIMEOUT_S)
    assert ended.code == -9, f"the run ended before it could be killed: {ended.err}"
    return _logged_steps(run)


def _end(process: subprocess.Popen[str]) -> str:
    ended = end(process, within_s=TIMEOUT_S)
    assert ended.code == 0, ended.err
    return ended.err


def _logged_steps(run: Path) -> int:
    path = run / "metrics.jsonl"
    return path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
