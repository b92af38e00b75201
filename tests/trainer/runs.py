"""`myxtts-train train` as a user runs it, undisturbed and resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.trainer.processes import begin, build_sample, end, program
from trainer.platform.program_cache import CHECKSUM

STEPS = 24
CHECKPOINT_EVERY = 6
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
    "optimizer.ema_decay=0.9",
)


class Ended(NamedTuple):
    """A finished run, and its stderr."""

    run: Path
    stderr: str


class Trained(NamedTuple):
    """The same training twice: undisturbed, and resumed from what a kill in the middle would have left."""

    data: Path
    undisturbed: Ended
    resumed: Ended
    stopped_after_step: int
    programs: tuple[frozenset[str], frozenset[str]]  # that were kept after the one, and after the other


def train_twice(folder: Path) -> Trained:
    """Train, copy the run's folder in the middle, while the process is stopped, and resume the copy.

    A copy of the folder is all that SIGKILL leaves; the resumed process loads the programs that the other compiled.
    """
    # no validation clips: validation programs take as long to compile as those of training
    data = build_sample(folder / "data", "validation_fraction=0")
    cache = folder / "cache"
    process = _start(data, run=folder / "undisturbed", cache=cache)
    stopped = _copy_in_the_middle(process, run=folder / "undisturbed", to=folder / "copy")
    undisturbed = Ended(folder / "undisturbed", _end(process))
    kept = _programs(cache)
    resumed = Ended(folder / "copy", _end(_start(data, run=folder / "copy", cache=cache)))
    return Trained(data, undisturbed, resumed, stopped, (kept, _programs(cache)))


def rows(run: Path) -> list[dict]:
    """The rows of training figures."""
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "train"]


def words(data: Path, *, run: Path) -> list[str]:
    return ["train", "configs/train_sample.yaml", *OVERRIDES, "--data", str(data), "--run", str(run)]


def _programs(cache: Path) -> frozenset[str]:
    return frozenset(path.name for path in cache.rglob("*") if path.is_file() and path.suffix != CHECKSUM)


def _start(data: Path, *, run: Path, cache: Path) -> subprocess.Popen[str]:
    variables = {
        "TF_XLA_FLAGS": "",
        "XDG_CACHE_HOME": str(cache),
        "COLUMNS": "200",
    }
    return begin([program("myxtts-train"), *words(data, run=run)], environment=variables)


def _copy_in_the_middle(process: subprocess.Popen[str], *, run: Path, to: Path) -> int:
    """Copy the run's folder some steps after a checkpoint; the last step that was logged by then."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while _logged_steps(run) < 2 * CHECKPOINT_EVERY + 2 and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    shutil.copytree(run, to)
    process.send_signal(signal.SIGCONT)
    return _logged_steps(to)


def _end(process: subprocess.Popen[str]) -> str:
    ended = end(process, within_s=TIMEOUT_S)
    assert ended.code == 0, ended.err
    return ended.err


def _logged_steps(run: Path) -> int:
    path = run / "metrics.jsonl"
    return path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
