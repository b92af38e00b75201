"""`myxtts-train profile`: what training would cost, measured before it is begun."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from rich.console import Console

from shared.config import load_config
from shared.dataset import Dataset
from tests.trainer.conftest import built
from tests.trainer.models import NARROW
from trainer.config.model_sizes import SIZES
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.inspection import inspect_input
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, bucket_of
from trainer.distributed.devices import Devices
from trainer.tools import input_speed
from trainer.tools import profile as profiling
from trainer.tools.flops import step_flops
from trainer.tools.profile import Profile, Profiler, ShapeCost
from trainer.tools.profile_table import profile_lines, profile_table
from trainer.training.components import TrainComponents

CONFIG = "configs/train_sample.yaml"


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)
    monkeypatch.setattr(input_speed, "INPUT_S", 0.2)


@pytest.fixture
def _not_computed(_narrow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of no time."""
    monkeypatch.setattr(TrainComponents, "train_on", no_step)
    monkeypatch.setattr(profiling, "EvalStep", NoEvaluation)


def no_step(_: TrainComponents, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    assert batch.keys() == {"mel", "frames", "tokens", "token_counts", "rows"}  # others would be another program
    return {"loss": tf.constant(1.0)}


class NoEvaluation:
    """A step of validation of no time."""

    def __init__(self, *_: object, **__: object):
        self.terms = {"mel": tf.constant(1.0)}

    def __call__(self, _: object) -> NoEvaluation:
        return self


def full_beyond(frames: int) -> Callable[[TrainComponents, dict], dict]:
    """What finds no room is the update, with which the weights are gone."""

    def step(components: TrainComponents, batch: dict) -> dict:
        weights = components.model.trainable_variables[0]
        assert np.isfinite(weights).all()
        if bucket_of(batch).frames > frames:
            weights.assign(np.full(weights.shape, np.nan))
            raise OutOfMemory(bucket_of(batch))
        return {"loss": tf.constant(1.0)}

    return step


def profiled(out: Path) -> dict:
    return json.loads((out / "profile.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_each_shape_of_the_plan_is_measured_and_steps_are_recorded(
    data: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Profiler] = []

    class Kept(Profiler):
        def __init__(self, *words: Any, **options: Any):
            super().__init__(*words, **options)
            made.append(self)

    monkeypatch.setattr(profiling, "Profiler", Kept)
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out", "--steps", "3")
    assert outcome.code == 0, outcome.err
    config = load_config(CONFIG, of=TrainConfig)
    inspection = inspect_input(config, dataset=Dataset.open(data))
    found = profiled(tmp_path / "out")
    shapes = found["shapes"]
    assert [Bucket(one["clips"], one["frames"], one["tokens"]) for one in shapes] == list(inspection.plan.buckets)
    assert [one["batches"] for one in shapes] == inspection.first_epoch.batches.tolist()
    assert made[0].programs == len(shapes)  # nothing was compiled while steps were recorded
    for one, bucket in zip(shapes, inspection.plan.buckets, strict=True):
        assert one["compile_s"] > one["step_s"] > 0  # XLA takes seconds, such a step milliseconds
        assert one["flops_per_s"] * one["step_s"] == pytest.approx(step_flops(config.model, bucket, n_mels=80))
    epoch_s = sum(one["batches"] * one["step_s"] for one in shapes) / min(1.0, found["input_over_steps"])
    assert found["epoch_s"] == pytest.approx(epoch_s)
    assert found["run_s"] == pytest.approx(config.steps * epoch_s / sum(one["batches"] for one in shapes))
    (recording,) = (tmp_path / "out").glob("plugins/profile/*/*.xplane.pb")
    recorded = recording.read_bytes()
    assert b"train" in recorded
    assert b"step_num" in recorded
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["plugins", "profile.json"]  # and no run
    assert TrainConfig.model_validate(found["config"]) == config


@pytest.mark.soak
def test_devices_that_share_a_batch_are_profiled_together(data: Path, tmp_path: Path) -> None:
    words = [
        "profile",
        CONFIG,
        "--data",
        str(data),
        "--out",
        str(tmp_path / "out"),
        "--steps",
        "2",
        "xla=false",
        "input.buckets=1",
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.trainer.logical_devices", "2", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert profiled(tmp_path / "out")["devices"] == "/CPU:0, /CPU:1"
    assert "recorded: " in ended.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
def test_the_costs_that_it_prints_are_settings(data: Path, command: Callable, tmp_path: Path) -> None:
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out", "--steps", "2")
    assert outcome.code == 0, outcome.err
    (line,) = (one for one in outcome.out.splitlines() if "input.costs" in one)
    words = [word for word in line.split() if word.startswith("input.costs.")]
    costs = load_config(CONFIG, of=TrainConfig, overrides=words).input.costs
    measured = profiled(tmp_path / "out")["costs"]
    assert costs.compile_s == pytest.approx(measured["compile_s"], rel=0.01)
    assert costs.step_s_per_1000_frames == pytest.approx(measured["frames_s"], rel=0.01)


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
def test_a_shape_that_does_not_fit_is_told_and_the_others_are_measured(
    data: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainComponents, "train_on", full_beyond(300))
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert "does not fit into memory: training would put fewer clips into its batches" in outcome.out
    assert "no steps were recorded" in outcome.out
    assert "epoch 0: " not in outcome.out
    found = profiled(tmp_path / "out")
    assert [one["fits"] for one in found["shapes"]] == [True, False]
    assert (found["input_over_steps"], found["epoch_s"], found["run_s"]) == (None, None, None)
    assert not (tmp_path / "out" / "plugins").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
def test_where_nothing_fits_there_is_a_line(
    data: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainComponents, "train_on", full_beyond(0))
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out")
    assert outcome.code == 2
    line = "error: no shape fits into memory: lower model.size or input.max_frames, or free the device"
    assert outcome.err.splitlines()[-1] == line


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
@pytest.mark.parametrize(
    "fault", [*(pytest.param(one, marks=pytest.mark.soak) for one in ("first step", "memory")), "disk"]
)
def test_figures_are_told_though_nothing_can_be_recorded(
    data: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """And the profiler is stopped: it can be started again."""
    start, train = tf.profiler.experimental.start, Profiler._train

    def first_step(self: Profiler, batches: list) -> None:
        if isinstance(batches, list) and int(batches[0]["rows"][0]) != 0:  # full batches have no other
            raise OutOfMemory(bucket_of(batches[0]))
        train(self, batches)

    def started(folder: str) -> None:
        assert fault != "first step"
        start(folder)
        if fault == "memory":
            monkeypatch.setattr(TrainComponents, "train_on", full_beyond(0))
        else:
            stop = tf.profiler.experimental.stop
            monkeypatch.setattr(tf.profiler.experimental, "stop", lambda: (stop(save=False), denied()))

    def denied() -> None:
        raise tf.errors.PermissionDeniedError(None, None, f"{tmp_path}; Permission denied")

    if fault == "first step":
        monkeypatch.setattr(Profiler, "_train", first_step)
    monkeypatch.setattr(tf.profiler.experimental, "start", started)
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out")
    assert outcome.code == 2
    expected = "the recording cannot be written" if fault == "disk" else "out of memory in bucket"
    assert expected in outcome.err.splitlines()[-1]
    assert "input.costs" in outcome.out
    assert profiled(tmp_path / "out")["steps"] == 200
    monkeypatch.undo()
    tf.profiler.experimental.start(str(tmp_path / "again"))
    tf.profiler.experimental.stop(save=False)


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(["validation_fraction=0"], marks=pytest.mark.soak),
        ["mel_dtype=none", "max_rejected_fraction=1"],
    ],
)
def test_datasets_of_other_kinds_are_profiled(command: Callable, tmp_path: Path, settings: list[str]) -> None:
    data = built(tmp_path / "data", overrides=settings)
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert profiled(tmp_path / "out")["input_over_steps"] is not None


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
def test_data_that_cannot_be_read_are_told_before_anything_is_compiled(
    data: Path, command: Callable, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(data, tmp_path / "data"))
    for shard in copy.glob("shards/*-train-*.tfrecord"):
        damaged = bytearray(shard.read_bytes())
        damaged[len(damaged) // 2] ^= 255
        shard.write_bytes(damaged)
    outcome = command("profile", CONFIG, "--data", copy, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert "shape 1" not in outcome.err
    assert outcome.err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("file/out", "cannot be created (Not a directory)"),
        ("data/profile", "inside the dataset"),
        ("data", "inside the dataset"),
    ],
)
def test_a_folder_that_will_not_do_is_a_line(
    data: Path, command: Callable, tmp_path: Path, out: str, words: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "data").symlink_to(data)
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / out)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {tmp_path / out}")
    assert words in outcome.err
    assert not (data / "profile").exists()


def test_a_profile_is_of_one_host(
    data: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"cluster": {"worker": ["one:1", "two:2"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    outcome = command("profile", CONFIG, "--data", data, "--out", tmp_path / "out")
    assert (outcome.code, outcome.err.partition(":")[2].strip()[:17]) == (2, "TF_CONFIG is set:")


class Clock:
    """Goes on when it is told to."""

    now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.mark.slow
@pytest.mark.usefixtures("_not_computed")
@pytest.mark.parametrize(
    ("read_s", "chunks"), [(1.0, 2), *(pytest.param(*one, marks=pytest.mark.soak) for one in ((7.0, 1), (0.0, 6)))]
)
def test_the_input_is_judged_by_whole_chunks_and_the_steps_that_their_batches_take(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_s: float, chunks: int
) -> None:
    """60 batches a chunk, which is read in so long before the first of them; 10 ms each, then 50 or 150 ms a step."""
    clock, taken = Clock(), []
    profiler = Profiler(load_config(CONFIG, of=TrainConfig), dataset=Dataset.open(data), out=tmp_path)
    short, long = profiler._feed.plan.buckets

    def batches(*_: object, **__: object) -> Iterator[dict[str, tf.Tensor]]:
        for number in itertools.count():
            clock.now_s += 0.01 if number % 60 else 0.01 + read_s
            taken.append(number)
            clips, frames, tokens = short if number % 2 else long
            yield {
                "mel": tf.zeros([clips, frames, 4]),
                "tokens": tf.zeros([clips, tokens], tf.int32),
                "frames": tf.fill([clips], frames),
                "next": tf.constant([0, number // 60, number % 60]),
            }

    monkeypatch.setattr(profiler, "_batches", batches)
    monkeypatch.setattr(input_speed, "time", clock)
    monkeypatch.setattr(input_speed, "INPUT_S", 3.05)
    shapes = [ShapeCost(short, 1, True, step_s=0.05), ShapeCost(long, 1, True, step_s=0.15)]
    found = profiler.input_over_steps(shapes, log=print)
    assert found == pytest.approx(60 * 0.1 / (60 * 0.01 + read_s))
    assert taken[-1] == 60 * chunks


class FakeMemory:
    """TensorFlow's account of a GPU's memory."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def reset_memory_stats(self, name: str) -> None:
        self.asked.append(("reset", name))

    def get_memory_info(self, name: str) -> dict[str, int]:
        self.asked.append(("read", name))
        return {"peak": 3 << 20}


def test_the_memory_of_a_gpu_is_asked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, devices = FakeMemory(), Devices(Hosts())
    monkeypatch.setattr(tf.config, "experimental", memory)
    with profiling._memory_of(devices) as found:
        pass
    assert (found, memory.asked) == ([], [])
    devices._names = ["/GPU:0", "/GPU:1"]
    with profiling._memory_of(devices) as found:
        assert memory.asked == [("reset", "GPU:0")]
    assert (found, memory.asked[1:]) == ([3.0], [("read", "GPU:0")])


def profile(**changes: object) -> Profile:
    shapes = (
        ShapeCost(Bucket(10, 100, 8), 30, True, compile_s=20.0, step_s=0.1, flops_per_s=1e9, memory_mib=256.0),
        ShapeCost(Bucket(5, 200, 16), 10, True, compile_s=40.0, step_s=0.3, flops_per_s=1e9, memory_mib=512.0),
    )
    return Profile("/GPU:0", 1, shapes, 3.0, 4000, stores_mels=True)._replace(**changes)


def test_time_is_that_of_the_steps_as_epoch_0_mixes_them() -> None:
    found = profile()
    assert found.epoch_s == pytest.approx(30 * 0.1 + 10 * 0.3)
    assert found.run_s == pytest.approx(100 * 6.0)  # 4,000 steps are 100 epochs of 40 batches
    assert (found.compile_s, found.frames_s) == (pytest.approx(30.0), pytest.approx(np.mean([0.1, 0.3])))
    assert "epoch 0: 40 batches, 6 s; 4,000 steps: 10 min" in "\n".join(profile_lines(found))
    slow = profile(input_over_steps=0.5)
    assert (slow.epoch_s, slow.run_s) == (pytest.approx(12.0), pytest.approx(1200.0))


def test_the_table_fits_into_80_columns() -> None:
    wide = ShapeCost(Bucket(1024, 10_000, 1_000), 100_000, True, 1000.0, 10.0, 1e15, 100_000.0)
    console = Console(width=80, file=io.StringIO())
    console.print(profile_table(profile(shapes=(wide, wide._replace(fits=False)))))
    shown = console.file.getvalue()
    assert "…" not in shown
    assert "1,000,000" in shown


@pytest.mark.parametrize(
    ("input_over_steps", "stores_mels", "advice"),
    [
        (0.5, True, "raise input.num_parallel_reads"),
        (1.2, True, "raise input.num_parallel_reads"),
        (1.2, False, "mel_dtype"),
        (8.0, True, None),
    ],
)
def test_an_input_that_is_hardly_faster_than_the_steps_is_told(
    input_over_steps: float, stores_mels: bool, advice: str | None
) -> None:
    found = profile(input_over_steps=input_over_steps, stores_mels=stores_mels)
    lines = "\n".join(profile_lines(found))
    assert f"{input_over_steps:.1f} times as fast" in lines
    assert ("would wait" in lines) == (advice is not None)
    assert advice is None or advice in lines


def test_a_single_clip_that_does_not_fit_would_end_a_training() -> None:
    single = ShapeCost(Bucket(2, 900, 80), 5, fits=False)
    assert "training would end; lower input.max_frames" in "\n".join(
        profile_lines(profile(shapes=(*profile().shapes, single), device_count=2, input_over_steps=None))
    )
