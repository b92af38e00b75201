"""Training over several epochs, with validation in each: programs, memory, and what the session sums up to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from shared.dataset import Dataset
from tests.trainer.batches import epochs, make_stream
from tests.trainer.conftest import built
from tests.trainer.events import steps_shown
from tests.trainer.processes import FAST_COMPILATION, xla_flags
from trainer.data.plan import Plan
from trainer.monitoring.samples import read_samples

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "tests.trainer.logical_devices", "1"]  # myxtts-train with the smallest network
EPOCHS = 4
SPOKEN = ("spoken", "target", "alignment", "target_over_spoken")
SETTINGS = {"buckets": 2, "global_frames_per_batch": 1500}
TIMEOUT_S = 1_800  # of which most is compilation


class Session(NamedTuple):
    """A training of some epochs, and what was seen of it from outside."""

    run: Path
    plan: Plan
    steps_per_epoch: int
    stderr: str
    dump: Path  # XLA's own, of what it compiled
    memory_mib: dict[int, float]  # by the step that was logged last, as the kernel tells other processes

    def rows(self, kind: str) -> list[dict]:
        lines = (self.run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [row for row in map(json.loads, lines) if row["kind"] == kind]

    @property
    def summary(self) -> dict:
        return json.loads((self.run / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """As a user trains, but a smaller network; validation has batches of each shape."""
    folder = tmp_path_factory.mktemp("epochs")
    data = built(folder / "data", overrides=["validation_fraction=0.3"])
    stream, plan, _ = make_stream(Dataset.open(data), **SETTINGS)
    steps_per_epoch = len(epochs(stream, until=1))
    overrides = (
        *(f"input.{name}={value}" for name, value in SETTINGS.items()),
        *(f"steps={EPOCHS * steps_per_epoch}", "log_every=1"),
        *(f"validate_every={steps_per_epoch}", f"checkpoint_every={steps_per_epoch}"),
    )
    words = ["train", "configs/train_sample.yaml", *overrides, "--data", str(data), "--run", str(folder / "run")]
    environment = {
        **os.environ,
        "XLA_FLAGS": xla_flags(FAST_COMPILATION, f"--xla_dump_to={folder / 'dump'}"),
        "COLUMNS": "200",
    }
    with (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen([*COMMAND, *words], env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
        memory_mib = _watch(process, folder / "run" / "metrics.jsonl")
    message = (folder / "stderr").read_text(encoding="utf-8")
    assert process.returncode == 0, message
    return Session(folder / "run", plan, steps_per_epoch, message, folder / "dump", memory_mib)


def _watch(process: subprocess.Popen[bytes], metrics: Path) -> dict[int, float]:
    """Resident memory, and the step that had been logged then, until the process ends."""
    seen, deadline_s = {}, time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline_s:
        step = metrics.read_text(encoding="utf-8").count('"train"') if metrics.exists() else 0
        if resident := re.search(r"VmRSS:\s+(\d+) kB", _status(process.pid)):
            seen[step] = int(resident[1]) / 1024
        time.sleep(0.02)
    process.kill()
    process.wait()
    return seen


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has just ended
        return ""


def test_an_epoch_over_all_shapes_compiles_one_program_for_each_in_training_and_in_validation(
    session: Session,
) -> None:
    shapes = len(session.plan.buckets)
    assert shapes == SETTINGS["buckets"]
    assert session.summary["programs"] == {"train": shapes, "validation": shapes, "speech": 1, "shapes": shapes}
    assert f"XLA programs: {shapes} for training, {shapes} for validation" in session.stderr


def test_xla_itself_has_compiled_no_other_step_and_one_update_for_all_shapes(session: Session) -> None:
    shapes = len(session.plan.buckets)
    named = (
        re.match(r"(module_\d+)\.a_inference__(on_one|update|evaluate|generate)_\d+", path.name)
        for path in session.dump.iterdir()
    )
    modules = {(match[1], match[2]) for match in named if match}
    expected = {"on_one": shapes, "update": 1, "evaluate": shapes, "generate": 1}
    assert Counter(name for _, name in modules) == expected


def test_memory_is_flat_after_the_first_epoch(session: Session) -> None:
    """By the median over an epoch, as a process that is writing a checkpoint holds it twice."""

    def median(values: dict[int, float], epoch: int) -> float:
        first, last = epoch * session.steps_per_epoch, (epoch + 1) * session.steps_per_epoch
        return float(np.median([value for step, value in values.items() if first < step <= last]))

    messages = {row["step"]: row["memory_mib"] for row in session.rows("train")}
    for values in (session.memory_mib, messages):
        by_epoch = [median(values, epoch) for epoch in range(EPOCHS)]
        print("resident memory by epoch, MiB:", ", ".join(f"{value:.0f}" for value in by_epoch))
        # the first validation, with its programs, ends the first epoch
        assert max(by_epoch[2:]) <= 1.02 * by_epoch[1]
    shares = [messages[step] / session.memory_mib[step] for step in messages.keys() & session.memory_mib.keys()]
    assert len(shares) > len(messages) / 2
    assert np.median(shares) == pytest.approx(1, rel=0.05)


def test_each_validation_says_how_the_clips_were_spoken(session: Session) -> None:
    rows = session.rows("validation")
    assert len(rows) == EPOCHS
    for row in rows:
        assert row["free_mel_distance_db"] > 0
        assert row["free_length_error"] >= 0
        assert 0 <= row["free_moves"] <= 1
    samples = read_samples(session.run)
    assert samples is not None
    assert (samples.step, len(samples.all)) == (EPOCHS * session.steps_per_epoch, 4)


def test_each_validation_shows_its_pictures_and_sounds_at_its_step(session: Session) -> None:
    shown = steps_shown(session.run)
    drawn = {tag: steps for tag, steps in shown.items() if not tag.startswith(("train/", "validation/"))}
    tags = {f"spoken/{number}/{what}" for number in range(4) for what in SPOKEN}
    steps = [epoch * session.steps_per_epoch for epoch in range(1, EPOCHS + 1)]
    assert drawn == dict.fromkeys({"target_over_prediction", "alignment"} | tags, steps)


def test_the_summary_is_of_the_rows(session: Session) -> None:
    summary, rows = session.summary, session.rows("train")
    assert (summary["first_step"], summary["last_step"]) == (1, len(rows)) == (1, EPOCHS * session.steps_per_epoch)
    timed = [row for row in rows if "stall" in row]
    assert len(timed) == len(rows) - len(session.plan.buckets)  # steps that compiled have no rate
    assert summary["figures"]["compute_max_ms"] == pytest.approx(max(row["compute_max_ms"] for row in timed))
    assert summary["figures"]["compute_median_ms"] == pytest.approx(
        float(np.median([row["compute_median_ms"] for row in timed])), rel=1e-3
    )
    parts = ("training_s", "first_batch_s", "compilation_s", "validation_s", "checkpoint_s", "pause_s")
    assert all(summary[name] > 0 for name in parts)
    assert all(line in session.stderr for line in summary["verdicts"])
    assert "allocator: " in session.stderr
