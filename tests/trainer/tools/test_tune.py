"""`myxtts-train tune`: what is chosen from the trials, what is kept, and the config that is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.config import load_config
from shared.dataset import Dataset
from shared.errors import UserError
from trainer.config.train_config import TrainConfig
from trainer.data.inspection import inspect_input
from trainer.tools import tune as tuning
from trainer.tools import tuning_input, tuning_trials
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
        self.fixed: set[str] = set()

    def run_trial(self, trial: str, *, config: TrainConfig, fixed: set[str], **_: Any) -> dict[str, Any]:
        self.fixed |= fixed
        if trial == "devices":
            return {"machine": "a card", "capability": self.capability, "fits": False}
        self.asked.append((trial, config))
        clips = config.input.global_frames_per_batch * CLIPS // FRAMES_PER_BATCH
        parts, precision = config.optimizer.microbatches, config.model.precision
        fits = -(-clips // parts) * (0.3 if config.model.rematerialise else 1) <= self.room
        speed = self.speeds.get(precision, 1.0) * (0.7 if config.model.rematerialise else 1.0)
        if trial == "step":
            facts = {"clips": clips, "frames": clips * 800, "epoch_batches": 1_000, "fits": fits, "compile_s": 100.0}
            return facts | {"step_s": (clips + 3 * parts) / speed / 100, "memory_mib": None}
        facts = {"shapes": 3, "explanation": "3 shapes chosen", "lines": ["epoch 0: 1 h"], "chunk_bytes": 1 << 20}
        facts |= {"padding": 0.05, "planned_padding": 0.045, "num_parallel_reads": 8, "is_narrow": False}
        facts |= {"compile_s": 130.04, "frames_s": 0.012345, "fits": fits}
        return facts | {"input_over_steps": {"4": 1.2, "8": 1.9}}


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tuned]:
    def on(machine: Machine, *words: str, raise_batch: bool = False, document: dict | None = None) -> Tuned:
        monkeypatch.setattr(tuning, "run_trial", machine.run_trial)
        given = TrainConfig.overridden({}, words=words)
        document = TrainConfig.overridden(document or {"steps": 500}, words=words)
        tuner = Tuner(
            document=document, given=given, data=Path("d"), steps=3, raise_batch=raise_batch, log=lambda _: None
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
        "input.costs.compile_s": 130.0,
        "input.costs.step_s_per_1000_frames": 0.0123,
        "input.buckets": 3,
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
        ([7, 5], {"float32", "float16"}),
        ([6, 1], {"float32"}),
    ],
)
def test_precisions_are_tried_that_the_card_may_be_fast_in(
    tune: Callable, capability: list[int] | None, tried: set[str]
) -> None:
    machine = Machine(capability=capability)
    tune(machine)
    assert {config.model.precision for _, config in machine.asked} == tried


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
        "input.global_frames_per_batch=16000",
        "input.global_max_clips=70",
        "optimizer={microbatches: 10}",
    ],
)
def test_a_setting_of_the_command_line_keeps_its_value(tune: Callable, word: str) -> None:
    machine = Machine(room=6 if "model" in word or "microbatches" in word else 10_000, speeds={"bfloat16": 2.0})
    tuned = tune(machine, word, raise_batch=True)
    document = TrainConfig.overridden({}, words=[word])
    ((section, values),) = document.items()
    ((name, value),) = values.items()
    key = f"{section}.{name}" if name != "costs" else "input.costs.compile_s"
    assert key not in chosen(tuned)
    assert key in tuned.kept
    assert key in machine.fixed
    found = tuned.document[section][name]
    assert (found["compile_s"] if name == "costs" else found) == (7 if name == "costs" else value)


def test_a_section_of_the_command_line_fixes_what_it_names_and_no_more(tune: Callable) -> None:
    tuned = tune(Machine(speeds={"bfloat16": 2.0}), "model={size: tiny, rematerialise: true}")
    assert tuned.document["model"]["size"] == "tiny"
    assert tuned.kept == ("model.rematerialise",)
    assert chosen(tuned)["model.precision"] == "bfloat16"


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


class Fuller(Machine):
    """A run needs more memory than the step of the longest clips."""

    def run_trial(self, trial: str, **rest: Any) -> dict[str, Any]:
        self.room = 6 if trial == "step" else 4
        return super().run_trial(trial, **rest)


def test_a_shape_that_does_not_fit_beside_the_others_is_split_further(tune: Callable) -> None:
    machine = Fuller()
    tuned = tune(machine)
    assert chosen(tuned)["optimizer.microbatches"] == 5
    assert [config.optimizer.microbatches for trial, config in machine.asked if trial == "run"] == [4, 5]
    (reason,) = (one.reason for one in tuned.choices if one.key == "optimizer.microbatches")
    assert "4: does not fit" in reason


@pytest.mark.parametrize(
    ("words", "document"), [(["optimizer.microbatches=4"], {}), ([], {"loss": {"adaptive": True}})]
)
def test_where_parts_are_fixed_a_shape_that_does_not_fit_ends_the_tuning(
    tune: Callable, words: list[str], document: dict
) -> None:
    fuller = Fuller()
    with pytest.raises(
        UserError, match=r"fit into memory; leave optimizer\.microbatches to the tuning, or lower model"
    ):
        tune(fuller, *words, document=document)


def test_a_raised_batch_whose_shapes_do_not_fit_comes_down_again(tune: Callable) -> None:
    class Full(Machine):
        def run_trial(self, trial: str, **rest: Any) -> dict[str, Any]:
            self.room = 10_000 if trial == "step" else 30
            return super().run_trial(trial, **rest)

    values = chosen(tune(Full(), raise_batch=True))
    assert FRAMES_PER_BATCH <= values["input.global_frames_per_batch"] <= 1.5 * FRAMES_PER_BATCH


def test_a_smaller_part_that_does_not_fit_either_is_followed_by_the_next(tune: Callable) -> None:
    class Ragged(Fuller):
        """Five parts fit by no means, though four do as a step."""

        def run_trial(self, trial: str, *, config: TrainConfig, **rest: Any) -> dict[str, Any]:
            facts = super().run_trial(trial, config=config, **rest)
            return facts | ({"fits": False} if config.optimizer.microbatches == 5 else {})

    assert chosen(tune(Ragged()))["optimizer.microbatches"] == 6


def test_where_not_even_single_clips_fit_there_is_a_line(tune: Callable) -> None:
    with pytest.raises(UserError, match=r"^training does not fit into memory; lower model\.size or input\.max_frames$"):
        tune(Machine(room=0))


def test_the_file_is_a_training_config_with_the_reasons_as_comments(tune: Callable, tmp_path: Path) -> None:
    tuned = tune(Machine(room=6), "optimizer.learning_rate=0.5")
    write_tuned_config(tuned, path=tmp_path / "t.yaml", source=Path("configs/a.yaml"), data="data/a")
    config = load_config(tmp_path / "t.yaml", of=TrainConfig)
    assert config == TrainConfig.model_validate(tuned.document)
    assert config.optimizer.learning_rate == 0.5
    text = (tmp_path / "t.yaml").read_text(encoding="utf-8")
    assert text.startswith("# configs/a.yaml, tuned for data/a on a card.\n")
    assert all(f"#   {one}\n" in text for one in tuned.choices)


def test_the_config_that_tuning_writes_does_not_tune_again(tune: Callable, tmp_path: Path) -> None:
    tuned = tune(Machine(), "auto=true")
    write_tuned_config(tuned, path=tmp_path / "t.yaml", source=Path("a.yaml"), data="a")
    assert tuned.document["auto"] is True
    assert not load_config(tmp_path / "t.yaml", of=TrainConfig).auto


@pytest.mark.parametrize("name", ["a b", "a\nmodel: {size: big}", "a\u2028b: c", "a\x1bb", "a\udcffb"])
def test_a_name_in_the_comments_cannot_become_a_setting(tune: Callable, tmp_path: Path, name: str) -> None:
    tuned = tune(Machine())
    write_tuned_config(tuned, path=tmp_path / "t.yaml", source=Path(name), data=name)
    assert load_config(tmp_path / "t.yaml", of=TrainConfig) == TrainConfig.model_validate(tuned.document)


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


def tried(trial: Any, *, data: Path, config: TrainConfig | None = None) -> dict[str, Any]:
    return run_trial(trial, config=config or TrainConfig(), data=data, steps=1, fixed=(), log=print)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_a_trial_that_the_system_ends_does_not_fit_whatever_it_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    monkeypatch.setattr(subprocess, "run", ends(-number, {"clips": 3}, {"fits": True}))
    assert tried("step", data=Path("d")) == {"fits": False, "clips": 3}
    assert f"ended by {number.name}: if the memory was full, it was that of the host" in capsys.readouterr().out


def test_a_trial_that_fails_otherwise_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", ends(1, {"clips": 3}))
    with pytest.raises(RuntimeError, match="exit code 1"):
        tried("step", data=Path("d"))


def test_a_trial_that_does_not_end_is_ended_and_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program, number = tmp_path / "hangs", tmp_path / "number"
    program.write_text(f"#!/bin/sh\necho $$ > {number}\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(tuning_trials, "MAX_TRIAL_S", 1)
    with pytest.raises(UserError, match="a trial did not end within 1 s: the driver of the GPU may hang"):
        tried("step", data=Path("d"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_a_host_without_memory_to_plan_is_one_line(tune: Callable) -> None:
    class Tiny(Machine):
        def run_trial(self, trial: str, **rest: Any) -> dict[str, Any]:
            return {"fits": False} if trial == "step" else super().run_trial(trial, **rest)

    with pytest.raises(UserError, match="the memory of the host does not suffice to plan the batches"):
        tune(Tiny())


@pytest.mark.slow
def test_the_command_tries_measures_and_writes_a_config(command: Callable, data: Path, tmp_path: Path) -> None:
    """One trial of each kind: what else could be varied is given."""
    words = ["xla=false", "model.precision=float32", "optimizer.microbatches=1", "input.chunk_bytes=100000"]
    words += ["input.buckets=1"]
    out = tmp_path / "tuned.yaml"
    outcome = command("tune", CONFIG, "--data", data, "--out", out, "--steps", "2", *words)
    assert outcome.code == 0, outcome.err
    assert "Steps on full batches of the longest clips, " in outcome.out
    config, before = load_config(out, of=TrainConfig), load_config(CONFIG, of=TrainConfig)
    assert (config.optimizer.microbatches, config.input.chunk_bytes, config.xla) == (1, 100_000, False)
    assert config.input.costs != before.input.costs
    assert config.input.costs.step_s_per_1000_frames > 0
    assert config.input.buckets == 1
    assert config.optimizer.learning_rate == before.optimizer.learning_rate
    comments = out.read_text(encoding="utf-8")
    assert "#   input.chunk_bytes: as given on the command line" in comments
    assert "#   epoch 0: " in comments
    assert "MiB" not in outcome.out  # no GPU


def test_a_chunk_grows_until_the_padding_is_as_planned_or_the_memory_is_used(data: Path) -> None:
    dataset = Dataset.open(data)
    config = load_config(CONFIG, of=TrainConfig, overrides=["input.chunk_bytes=50000"])
    enough = choose_chunk_bytes(config, dataset=dataset)
    sizes = [50_000 * 2**doublings for doublings in range(10)]
    changed = [config.input.model_copy(update={"chunk_bytes": size}) for size in sizes]
    tried = [inspect_input(config.model_copy(update={"input": one}), dataset=dataset) for one in changed]
    paddings = [one.first_epoch.total_padding(one.plan.buckets) for one in tried]
    assert enough.padding <= min(paddings) + 0.005
    assert enough.chunk_bytes == sizes[paddings.index(enough.padding)] > 50_000
    little = choose_chunk_bytes(config, dataset=dataset, most_memory_bytes=12 * 120_000)
    assert little.chunk_bytes == 100_000
    assert little.padding > little.planned_padding + 0.01
    least = choose_chunk_bytes(config, dataset=dataset, most_memory_bytes=12 * 30_000)
    assert least.chunk_bytes == 30_000
    assert choose_chunk_bytes(config, dataset=dataset, is_fixed=True).chunk_bytes == 50_000


def test_a_chunk_that_holds_everything_does_not_grow(data: Path) -> None:
    """Whatever padding is left is not the chunks'."""
    overrides = ["input.chunk_bytes=500000000", "input.buckets=1", "input.global_frames_per_batch=15000"]
    config = load_config(CONFIG, of=TrainConfig, overrides=overrides)
    found = choose_chunk_bytes(config, dataset=Dataset.open(data))
    assert found.padding > found.planned_padding + 0.01  # the last batch is not full
    assert found.chunk_bytes == 500_000_000


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
        ({4: 0.5, 8: 0.51}, [4, 8], 4),  # not the reads
        ({4: 0.5, 8: 0.9, 16: 1.6}, [4, 8, 16], 16),
        ({4: 0.5, 8: 0.9, 16: 0.9}, [4, 8, 16], 8),
    ],
)
def test_more_reads_are_tried_while_training_would_wait_and_they_help(
    data: Path, monkeypatch: pytest.MonkeyPatch, speeds: dict[int, float], asked: list[int], best: int
) -> None:
    monkeypatch.setattr(tuning_input, "usable_cores", lambda: 8)
    profiler, profile = SlowInput(speeds), Profile("a", 1, (), speeds[4], 10, True)
    settings: dict = {"profile": profile, "dataset": Dataset.open(data), "config": TrainConfig(), "log": print}
    found = choose_parallel_reads(profiler, is_fixed=False, **settings)
    assert (profiler.asked, found.num_parallel_reads) == (asked, best)
    assert found.input_over_steps == {one: speeds[one] for one in asked or [4]}
    assert found.is_narrow == (speeds[best] < 1.5)
    asked.clear()
    assert choose_parallel_reads(profiler, is_fixed=True, **settings).num_parallel_reads == 4
