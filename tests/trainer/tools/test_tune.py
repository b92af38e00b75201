"""`myxtts-train tune`: what is chosen from the trials, what is kept, and the config that is written."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.config import load_config
from shared.dataset import Dataset
from shared.errors import UserError
from trainer.config.train_config import TrainConfig
from trainer.tools import tune as tuning
from trainer.tools import tuning_input
from trainer.tools.profile import Profile
from trainer.tools.tune import Tuned, Tuner
from trainer.tools.tuned_config import write_tuned_config
from trainer.tools.tuning_input import choose_chunk_bytes, choose_parallel_reads
from trainer.tools.tuning_trials import run_trial

CONFIG = "configs/train_sample.yaml"
FRAMES_PER_BATCH, CLIPS = 16_000, 20


class Machine:
    """Answers trials as a machine of a compute capability would; one part fits `room` clips."""

    def __init__(self, *, capability: list[int] | None = None, room: int = 100, speeds: dict[str, float] | None = None):
        self.capability, self.room, self.speeds = capability, room, speeds or {}
        self.asked: list[tuple[str, TrainConfig]] = []

    def run_trial(self, trial: str, *, config: TrainConfig, data: Path, steps: int) -> dict[str, Any]:
        self.asked.append((trial, config))
        clips = config.input.global_frames_per_batch * CLIPS // FRAMES_PER_BATCH
        parts, precision = config.optimizer.microbatches, config.model.precision
        fits = -(-clips // parts) * (0.3 if config.model.rematerialise else 1) <= self.room
        speed = self.speeds.get(precision, 1.0) * (0.7 if config.model.rematerialise else 1.0)
        facts: dict[str, Any] = {"machine": "a card", "capability": self.capability, "clips": clips}
        facts |= {"frames": clips * 800, "epoch_batches": 1_000, "fits": fits, "compile_s": 100.0}
        if trial == "step":
            return facts | {"step_s": (clips + 3 * parts) / speed / 100, "memory_mib": None}
        facts |= {"shapes": 3, "explanation": "3 shapes chosen", "lines": ["epoch 0: 1 h"], "chunk_bytes": 1 << 20}
        facts |= {"padding": 0.05, "planned_padding": 0.045, "num_parallel_reads": 8, "is_narrow": False}
        return facts | {"input_over_steps": {"4": 1.2, "8": 1.9}}


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tuned]:
    def on(machine: Machine, *words: str, raise_batch: bool = False, document: dict | None = None) -> Tuned:
        monkeypatch.setattr(tuning, "run_trial", machine.run_trial)
        document = TrainConfig.overridden(document or {"steps": 500}, words=words)
        fixed = [word.partition("=")[0] for word in words]
        tuner = Tuner(
            document=document, fixed=fixed, data=Path("d"), steps=3, raise_batch=raise_batch, log=lambda _: None
        )
        return tuner.tune()

    return on


def chosen(tuned: Tuned) -> dict[str, Any]:
    return {one.key: one.value for one in tuned.choices}


def test_each_choice_is_in_the_config_and_has_a_reason(tune: Callable) -> None:
    tuned = tune(Machine(room=6, speeds={"bfloat16": 2.0}))
    values = chosen(tuned)
    assert values == {
        "model.precision": "bfloat16",
        "model.rematerialise": False,
        "optimizer.microbatches": 4,
        "input.global_frames_per_batch": FRAMES_PER_BATCH,
        "input.global_max_clips": 64,
        "input.costs.compile_s": 120.0,
        "input.costs.step_s_per_1000_frames": pytest.approx(32 / 2 / 100 / 16, rel=0.01),
        "input.buckets": None,
        "input.chunk_bytes": 1 << 20,
        "input.num_parallel_reads": 8,
    }
    assert all(one.reason for one in tuned.choices)
    config = TrainConfig.model_validate(tuned.document)
    assert (config.optimizer.microbatches, config.input.num_parallel_reads, config.steps) == (4, 8, 500)
    reasons = {one.key: one.reason for one in tuned.choices}
    assert "1: does not fit into memory" in reasons["optimizer.microbatches"]
    assert "float32: " in reasons["model.precision"]


@pytest.mark.parametrize(
    ("capability", "tried"),
    [
        (None, {"float32", "bfloat16"}),
        ([9, 0], {"bfloat16"}),
        ([7, 5], {"bfloat16", "float32", "float16"}),
        ([6, 1], {"bfloat16", "float32"}),
    ],
)
def test_precisions_are_tried_that_the_card_may_be_fast_in(
    tune: Callable, capability: list[int] | None, tried: set[str]
) -> None:
    machine = Machine(capability=capability, speeds={"bfloat16": 9.0 if capability in (None, [9, 0]) else 0.1})
    tuned = tune(machine)
    assert {config.model.precision for _, config in machine.asked} == tried
    if capability == [6, 1]:
        assert chosen(tuned)["model.precision"] == "float32"


@pytest.mark.parametrize(
    "word",
    [
        "model.precision=float32",
        "optimizer.microbatches=10",
        "model.rematerialise=true",
        "input.buckets=2",
        "input.chunk_bytes=1000",
        "input.costs.compile_s=7",
        "input.num_parallel_reads=3",
    ],
)
def test_a_setting_of_the_command_line_keeps_its_value(tune: Callable, word: str) -> None:
    tuned = tune(Machine(room=6, speeds={"bfloat16": 2.0}), word)
    key, value = word.split("=")
    assert key not in chosen(tuned)
    found: Any = tuned.document
    for name in key.split("."):
        found = found[name]
    assert found == yaml.safe_load(value)


def test_the_batch_is_kept_unless_a_larger_one_is_allowed(tune: Callable) -> None:
    assert chosen(tune(Machine(room=10_000)))["input.global_frames_per_batch"] == FRAMES_PER_BATCH
    values = chosen(tune(Machine(room=10_000), raise_batch=True))
    assert values["input.global_frames_per_batch"] > FRAMES_PER_BATCH
    growth = values["input.global_frames_per_batch"] / FRAMES_PER_BATCH
    assert values["input.global_max_clips"] == 64 * growth


def test_a_gradient_of_a_whole_batch_is_not_split(tune: Callable) -> None:
    machine = Machine(room=100)
    tune(machine, document={"loss": {"adaptive": True}})
    assert {config.optimizer.microbatches for _, config in machine.asked} == {1}


def test_a_shape_that_does_not_fit_beside_the_others_is_split_further(tune: Callable) -> None:
    class Fuller(Machine):
        """A run needs more memory than the step of the longest clips."""

        def run_trial(self, trial: str, **rest: Any) -> dict[str, Any]:
            self.room = 6 if trial == "step" else 4
            return super().run_trial(trial, **rest)

    machine = Fuller()
    assert chosen(tune(machine))["optimizer.microbatches"] == 5
    assert [config.optimizer.microbatches for trial, config in machine.asked if trial == "run"] == [4, 5]


def test_where_not_even_single_clips_fit_there_is_a_line(tune: Callable) -> None:
    with pytest.raises(UserError, match=r"^not even single clips fit into memory: lower model.size"):
        tune(Machine(room=0))


def test_the_file_is_a_training_config_with_the_reasons_as_comments(tune: Callable, tmp_path: Path) -> None:
    tuned = tune(Machine(room=6), "optimizer.learning_rate=0.5")
    write_tuned_config(tuned, path=tmp_path / "t.yaml", source=Path("configs/a.yaml"), data=Path("data/a"))
    config = load_config(tmp_path / "t.yaml", of=TrainConfig)
    assert config == TrainConfig.model_validate(tuned.document)
    assert config.optimizer.learning_rate == 0.5
    text = (tmp_path / "t.yaml").read_text(encoding="utf-8")
    assert text.startswith("# configs/a.yaml, tuned for data/a on a card.\n")
    assert all(f"#   {one}\n" in text for one in tuned.choices)


def test_a_file_that_exists_is_not_replaced(command: Callable, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept.yaml"
    out.write_text("kept")
    outcome = command("tune", CONFIG, "--data", data, "--out", out)
    assert (outcome.code, out.read_text()) == (2, "kept")
    assert "exists; expected the path of a new config file" in outcome.err
    outcome = command("tune", CONFIG, "--data", data, "--out", tmp_path / "no" / "t.yaml")
    assert outcome.code == 2
    assert "is no folder that can be written to" in outcome.err


def ends(code: int, *lines: dict[str, Any]) -> Callable[..., subprocess.CompletedProcess[str]]:
    printed = "".join(f"{json.dumps(line)}\n" for line in lines)
    return lambda *_, **__: subprocess.CompletedProcess([], code, stdout=printed)


def test_a_trial_that_the_system_kills_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", ends(-signal.SIGKILL, {"clips": 3}))
    assert run_trial("step", config=TrainConfig(), data=Path("d"), steps=1) == {"fits": False, "clips": 3}
    monkeypatch.setattr(subprocess, "run", ends(-signal.SIGSEGV, {"clips": 3}))
    with pytest.raises(RuntimeError, match="exit code -11"):
        run_trial("step", config=TrainConfig(), data=Path("d"), steps=1)


def test_a_mistake_that_a_trial_finds_is_the_user_s(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere: no such directory; expected a dataset"):
        run_trial("step", config=TrainConfig(), data=tmp_path / "nowhere", steps=1)


@pytest.mark.slow
def test_a_trial_of_a_run_measures_its_shapes_and_its_input(data: Path) -> None:
    config = load_config(CONFIG, of=TrainConfig, overrides=["xla=false", "input.chunk_bytes=100000"])
    facts = run_trial("run", config=config, data=data, steps=1)
    assert facts["fits"]
    assert facts["frames_s"] > 0
    assert facts["chunk_bytes"] > 100_000  # so small chunks end in many batches that are not full
    assert facts["padding"] <= facts["planned_padding"] + 0.01
    assert facts["input_over_steps"]["4"] > 0


def test_a_chunk_grows_until_the_padding_is_as_planned_or_the_memory_is_used(data: Path) -> None:
    dataset = Dataset.open(data)
    config = load_config(CONFIG, of=TrainConfig, overrides=["input.chunk_bytes=50000"])
    enough = choose_chunk_bytes(config, dataset=dataset)
    assert enough.chunk_bytes in {50_000 * 2**doublings for doublings in range(1, 10)}
    assert enough.padding <= enough.planned_padding + 0.01
    little = choose_chunk_bytes(config, dataset=dataset, memory_bytes=12 * 120_000)
    assert little.chunk_bytes == 100_000
    assert little.padding > little.planned_padding + 0.01
    least = choose_chunk_bytes(config, dataset=dataset, memory_bytes=12 * 30_000)
    assert least.chunk_bytes == 30_000


class SlowInput:
    """A profiler whose input is as fast as its number of parallel reads says."""

    def __init__(self, speeds: dict[int, float]):
        self.speeds, self.asked = speeds, []

    def input_over_steps(self, _: object, *, log: Callable, num_parallel_reads: int) -> float:
        self.asked.append(num_parallel_reads)
        return self.speeds[num_parallel_reads]


@pytest.mark.parametrize(
    ("speeds", "asked", "best"),
    [
        ({4: 1.6}, [], 4),  # fast enough
        ({4: 0.5, 8: 0.51}, [8], 4),  # not the reads
        ({4: 0.5, 8: 0.9, 16: 1.6}, [8, 16], 16),
        ({4: 0.5, 8: 0.9, 16: 0.9}, [8, 16], 8),
    ],
)
def test_more_reads_are_tried_while_training_would_wait_and_they_help(
    data: Path, monkeypatch: pytest.MonkeyPatch, speeds: dict[int, float], asked: list[int], best: int
) -> None:
    monkeypatch.setattr(tuning_input, "usable_cores", lambda: 8)
    profiler, profile = SlowInput(speeds), Profile("a", 1, (), speeds[4], 10, True)
    found = choose_parallel_reads(profiler, profile=profile, dataset=Dataset.open(data), configured=4, log=print)
    assert (profiler.asked, found.num_parallel_reads) == (asked, best)
    assert found.is_narrow == (speeds[best] < 1.5)
