"""A session on an asynchronous device, with a fake driver."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest
import tensorflow as tf

from tests.trainer.monitoring.test_gpu_stats import LOST, Driver, Memory, wait_for
from trainer.config.train_config import TrainConfig
from trainer.monitoring import session
from trainer.monitoring.gpu_stats import GpuSampler
from trainer.monitoring.session import Session
from trainer.monitoring.summary import CompiledPrograms, Summary, write_summary
from trainer.platform import process

PROGRAMS = CompiledPrograms(train=1, validation=0, shapes=1)


@pytest.fixture(autouse=True)
def _driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that is 98 % busy, then 92 %, then gone."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    driver = Driver([98, 92, LOST])
    sampler = partial(GpuSampler, nvml=driver, memory=Memory(), interval_s=0.001)
    monkeypatch.setattr(session, "GpuSampler", sampler)


def train_for(steps: int, *, session: Session) -> None:
    for _, batch in zip(range(steps), session.timer.batches(iter(range(1, 100))), strict=False):
        time.sleep(0.001)
        session.timer.record_step(tf.constant([100.0, float(batch)]), compiled=False)


def summed_up(session: Session, *, last_step: int) -> Summary:
    return session.summarize(
        data="/data",
        last_step=last_step,
        device="/GPU:0",
        allocator="allocator: x",
        programs=PROGRAMS,
        config=TrainConfig(),
        padding=0.1,
        stores_mels=True,
    )


def test_statistics_of_gpu_and_steps_are_logged_and_summarized() -> None:
    with Session(gpus=1, first_step=101) as running:
        wait_for(lambda: not running._gpus._thread.is_alive())
        train_for(30, session=running)
        figures = running.metrics()
        assert running.pop_gpu_problem() == "GPU utilisation is no longer measured: NVML says GPU is lost"
        train_for(10, session=running)
        with running.timer.exclude("validation"):
            time.sleep(0.05)
        summary = summed_up(running, last_step=140)
    assert figures["gpu0_utilisation"] == 95.0
    assert figures["memory_mib"] > 100
    assert (summary.first_step, summary.last_step) == (101, 140)
    assert summary.validation_s == pytest.approx(0.05, abs=0.03)
    assert summary.checkpoint_s == summary.pause_s == 0.0
    assert summary.gpus[0].utilisation == 95.0
    assert summary.figures["clips_per_second"] * summary.training_s == pytest.approx(30 * 31 / 2 + 10 * 11 / 2)


def test_the_terminal_has_every_part_of_the_summary() -> None:
    with Session(gpus=1) as running:
        wait_for(lambda: not running._gpus._thread.is_alive())
        train_for(30, session=running)
        running.metrics()
        text = "\n".join(summed_up(running, last_step=30).lines())
    for words in ("steps 1 to 30", "frames/s", "clips/s", "waits for data", "GPU 0 (card 0): 95.0 % busy"):
        assert words in text
    assert "XLA programs: 1 for training, 0 for validation (bucket shapes: 1)" in text
    assert any("stall" in line for line in text.splitlines()[-2:])


def test_what_the_loop_does_between_steps_limits_a_session() -> None:
    with Session(gpus=0) as running:
        for _, batch in zip(range(30), running.timer.batches(iter(range(1, 100))), strict=False):
            time.sleep(0.002)
            running.timer.record_step(tf.constant([100.0, float(batch)]), compiled=False)
            time.sleep(0.004)
        verdicts = summed_up(running, last_step=30).verdicts
    assert any(line.startswith("Python-bound: ") for line in verdicts), verdicts


def test_the_summary_is_read_back_without_the_excluded_times(tmp_path: Path) -> None:
    with Session(gpus=1) as running:
        train_for(3, session=running)
        summary = summed_up(running, last_step=3)
    write_summary(summary, run=tmp_path)
    text = (tmp_path / "summary.json").read_text(encoding="utf-8")
    assert '"excluded"' not in text
    assert Summary.model_validate({**summary.model_dump(), "excluded": summary.excluded}) == summary
    (gpu,) = json.loads(text)["gpus"]
    assert gpu == summary.gpus[0]._asdict()


def test_a_process_reads_its_memory_and_its_bytes_read(tmp_path: Path) -> None:
    held = bytearray(b"x" * (64 << 20))
    before_mib, before = process.resident_mib(), process.bytes_read()
    assert before_mib is not None
    assert before is not None
    more = bytearray(b"y" * (64 << 20))
    (tmp_path / "file").write_bytes(held)
    (tmp_path / "file").read_bytes()
    after_mib, after = process.resident_mib(), process.bytes_read()
    assert len(more) / 2**20 - 8 < after_mib - before_mib
    assert after.since(before).read_bytes >= len(held)
    assert 1 <= process.usable_cores() <= 4096
