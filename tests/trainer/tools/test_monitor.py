"""A training watched from outside: what its files, its process and the driver say."""

from __future__ import annotations

import datetime
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest
from rich.console import Console

from shared.errors import UserError
from shared.lock_holder import LockHolder
from tests.trainer.monitoring.test_gpu_stats import Driver
from tests.trainer.test_cli_startup import WITHOUT_A_MODEL, run
from trainer.monitoring import watched_process
from trainer.tools.monitor import Monitor, late_warning

SPEED = {"frames_per_second": 5000.0, "clips_per_second": 40.0, "stall": 0.01, "steps_per_second": 2.0}
ROWS: list[dict[str, Any]] = [
    {"step": 50, "kind": "train", "loss": 3.0, "learning_rate": 1e-3, **SPEED},
    {"step": 100, "kind": "train", "loss": 2.5, "learning_rate": 1e-3, "gradient_norm": None, **SPEED},
    {"step": 100, "kind": "validation", "loss": 2.75, "validation_s": 10.0},
]


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_process, "FIRST_LOOK_S", 0.05)


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A run of 500 steps, validated every 100, after step 100."""
    (tmp_path / "run.json").write_text(json.dumps({"config": {"steps": 500, "validate_every": 100}}))
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    (tmp_path / "checkpoints").mkdir()
    for step in (0, 50, 100):
        (tmp_path / "checkpoints" / f"step-{step:08d}.safetensors").touch()
    return tmp_path


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as started:
        yield started
        started.kill()


def lock(root: Path, *, pid: int, host: str | None = None, since: str | None = None) -> None:
    holder = LockHolder.of_this_process("train")
    changed = {"pid": pid, "host": host or socket.gethostname(), "since": since or holder.since}
    holder = holder.model_copy(update=changed)
    (root / ".lock").write_text(holder.model_dump_json(indent=1))


def shown(root: Path, **options: Any) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(Monitor(root, **options).look(width=200))
    return capture.get()


def test_progress_losses_checkpoint_and_the_process_that_trains_are_shown(
    watched: Path, process: subprocess.Popen[bytes]
) -> None:
    lock(watched, pid=process.pid)
    text = shown(watched)
    # 400 steps at two a second, and four validations of ten seconds
    assert f"{watched}: step 100 of 500, 20%, 0:04:00 left" in text
    assert f"training: train of {LockHolder.of_this_process('train').user} on {socket.gethostname()}" in text
    for words in ("loss 2.5000", "step 100  loss 2.7500", "5,000 frames/s", "stall 1.0%", "step 100, 0:00:0"):
        assert words in text
    assert f"process {process.pid} keeps " in text
    assert "GiB free" in text


def test_a_training_that_was_killed_is_told_from_one_on_another_machine_and_from_none(
    watched: Path, process: subprocess.Popen[bytes]
) -> None:
    assert "no training is running\n" in shown(watched)
    lock(watched, pid=process.pid, host="elsewhere")
    assert "training on another machine: train of " in shown(watched)
    process.kill()
    process.wait()
    lock(watched, pid=process.pid)
    assert f"no training is running: process {process.pid} is gone, and left its lock" in shown(watched)


def test_a_later_process_with_the_number_of_the_one_that_trained_is_not_taken_for_it(
    watched: Path, process: subprocess.Popen[bytes]
) -> None:
    lock(watched, pid=process.pid, since="2020-01-01T00:00:00+00:00")
    assert f"process {process.pid} is gone, and left its lock" in shown(watched)


def test_a_process_that_ended_and_was_not_waited_for_is_gone(watched: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        lock(watched, pid=ended.pid)
        assert f"process {ended.pid} is gone, and left its lock" in shown(watched)


def test_a_silence_longer_than_usual_is_told_of_a_living_process(
    watched: Path, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(watched, pid=process.pid)
    assert "no step was logged" not in shown(watched)
    long_ago_s = time.time() - 3600
    os.utime(watched / "metrics.jsonl", (long_ago_s, long_ago_s))
    assert "no step was logged" not in shown(watched)  # the rows are of an earlier session
    began = datetime.datetime.fromtimestamp(long_ago_s - 60, datetime.UTC).isoformat()
    monkeypatch.setattr(watched_process, "CLOCK_ERROR_S", 7200.0)
    lock(watched, pid=process.pid, since=began)
    assert "no step was logged for 1:00:0" in shown(watched)
    process.kill()
    process.wait()
    assert "no step was logged" not in shown(watched)


def test_how_long_a_silence_may_be_follows_the_rows() -> None:
    # 50 steps at half a step a second, and a validation of ten seconds: 110 s
    slow = [{**row, "steps_per_second": 0.5} for row in ROWS[:2]] + ROWS[2:]
    assert late_warning(slow, silent_s=549.0) is None
    assert late_warning(slow, silent_s=551.0) == "no step was logged for 0:09:11, 5 times as long as usual"
    assert late_warning(ROWS, silent_s=299.0) is None
    assert late_warning(ROWS, silent_s=301.0) is not None
    assert late_warning([], silent_s=1e6) is None


def test_the_gpus_of_the_machine_that_trains_are_shown(watched: Path, process: subprocess.Popen[bytes]) -> None:
    lock(watched, pid=process.pid)
    text = shown(watched, nvml=Driver([97.0, 12.0], gpus=2))
    assert "0 (card 0): 97 % busy, 79.0 of 80.0 GiB, 250 W" in text
    assert "1 (card 1): 12 % busy, 79.0 of 80.0 GiB, 250 W" in text
    assert "GPU" not in shown(watched, nvml=Driver([1.0], gpus=0))
    lock(watched, pid=process.pid, host="elsewhere")
    assert "card" not in shown(watched, nvml=Driver([97.0]))


def test_a_gpu_that_gives_no_figures_does_not_hide_the_others(watched: Path, process: subprocess.Popen[bytes]) -> None:
    lock(watched, pid=process.pid)
    silent = Driver([pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED), 12.0], gpus=2, power=False)
    text = shown(watched, nvml=silent)
    assert "0 (card 0): 79.0 of 80.0 GiB" in text
    assert "1 (card 1): 12 % busy, 79.0 of 80.0 GiB" in text


def test_a_loss_that_is_not_finite_is_told(watched: Path) -> None:
    with (watched / "metrics.jsonl").open("a") as file:
        file.write(f"{json.dumps({**ROWS[1], 'step': 150, 'loss': None})}\n")
    assert "step 150: the loss is not finite" in shown(watched)


def test_a_run_is_shown_without_its_checkpoint_where_these_cannot_be_listed(
    watched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run: Path) -> None:
        raise PermissionError(13, "Permission denied", str(run / "checkpoints"))

    assert "step 100, 0:00:0" in shown(watched)
    monkeypatch.setattr("trainer.tools.monitor.list_checkpoints", refuse)
    text = shown(watched)
    assert "step 100 of 500" in text
    assert "step 100, 0:00:0" not in text


def test_files_that_are_no_checkpoints_and_a_run_of_a_vocoder_are_looked_at_too(watched: Path) -> None:
    (watched / "checkpoints" / "step-00000200 copy.safetensors").touch()
    assert "step 100, 0:00:0" in shown(watched)
    (watched / "run.json").unlink()
    assert f"{watched}: step 100\n" in shown(watched)


def test_a_run_before_its_first_row_and_one_that_is_done(watched: Path) -> None:
    (watched / "metrics.jsonl").write_text(f"{json.dumps({**ROWS[0], 'step': 500})}\n")
    assert f"{watched}: step 500 of 500, 100%\n" in shown(watched)
    (watched / "metrics.jsonl").unlink()
    assert f"{watched}: no step was logged yet" in shown(watched)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run here"):
        Monitor(tmp_path)


@pytest.mark.slow
def test_the_command_looks_without_tensorflow(watched: Path) -> None:
    said, modules = run("monitor", str(watched), "--once", code=0)
    assert "step 100 of 500" in said
    assert not modules & (WITHOUT_A_MODEL - {"rich"})
