"""Training runs on one and on two logical devices, each in its own process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.trainer.processes import begin, build_sample, end
from trainer.checkpoint.checkpoint_files import list_checkpoints

STEPS = 6
RESUMED = 2  # the step after which two devices go on
TIMEOUT_S = 3600
SETTINGS = (
    "log_every=1",
    f"validate_every={STEPS // 2}",
    "checkpoint_every=2",
    "kept_checkpoints=4",
    "synthesis_eval.clips=1",
    "input.buckets=1",  # of 3 clips: one device has a row more than the other
    "input.global_frames_per_batch=1500",
    "optimizer.schedule.kind=constant",  # independent of the number of steps
    "optimizer.ema_decay=0.9",
    "recovery.probe_memory=true",
    "xla=false",
)

ENVIRONMENT = {"COLUMNS": "200"}


class Runs(NamedTuple):
    """A run on one device, and the same run continued on two devices from an early checkpoint."""

    one: Path
    two: Path
    said: str  # output of the second run


def train_on_devices(folder: Path) -> Runs:
    """Train both runs, one after the other."""
    data, one, two = build_sample(folder / "data"), folder / "one", folder / "two"
    train(data, run=one, devices=1, steps=STEPS)
    shutil.copytree(one, two)
    for saved in list_checkpoints(two):
        if saved.step > RESUMED:
            saved.path.unlink()
    return Runs(one, two, train(data, run=two, devices=2, steps=STEPS))


def train(data: Path, *overrides: str, run: Path, devices: int, steps: int, is_disturbed: bool = False) -> str:
    """Train to the end, and return the output."""
    return said_at_end(
        begin_training(data, *overrides, run=run, devices=devices, steps=steps, is_disturbed=is_disturbed)
    )


def begin_training(
    data: Path, *overrides: str, run: Path, devices: int, steps: int, is_disturbed: bool = False
) -> subprocess.Popen[str]:
    words = ["train", "configs/train_sample.yaml", *SETTINGS, f"steps={steps}", *overrides]
    command = [
        sys.executable,
        "-m",
        "tests.trainer.logical_devices",
        str(devices),
        *(["disturbed"] if is_disturbed else []),
    ]
    return begin([*command, *words, "--data", str(data), "--run", str(run)], environment=ENVIRONMENT)


def said_at_end(process: subprocess.Popen[str]) -> str:
    """Wait for a training that reaches its last step, and return its output."""
    ended = end(process, within_s=TIMEOUT_S)
    assert ended.code == 0, ended.err[-3000:]
    return ended.err


def rows(run: Path, *, kind: str) -> list[dict]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]
