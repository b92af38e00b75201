"""What limits a session: each cause is named with its evidence, and no longer once its remedy is applied."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from trainer.config.train_config import TrainConfig
from trainer.monitoring import bottlenecks
from trainer.monitoring.bottlenecks import SessionLoad, find_bottlenecks
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.host_stats import HostStats
from trainer.monitoring.step_timer import ExcludedTime, TimingWindow

STEPS = 100


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottlenecks, "usable_cores", lambda: 4)


class Case(NamedTuple):
    """A session of 100 steps of a second each."""

    stall: float = 0.01  # of the training time
    python: float = 0.02  # of the training time
    compilation_s: float = 5.0
    validation_s: float = 5.0
    checkpoint_s: float = 1.0
    padding: float = 0.1
    own_cores: float = 3.5
    other_cores: float | None = 0.1
    steps: int = STEPS
    is_on_gpu: bool = False
    gpus: tuple[GpuStats, ...] = ()

    def load(self) -> SessionLoad:
        seconds = float(self.steps)
        compute = 1.0 - self.stall - self.python
        excluded_s = {
            "first batch": 500.0,  # counts for nothing
            "compilation": self.compilation_s,
            "validation": self.validation_s,
            "checkpoint": self.checkpoint_s,
        }
        window = TimingWindow(
            seconds=seconds,
            steps=self.steps,
            frames=1,
            clips=1,
            waits_s=np.full(self.steps, self.stall, np.float32),
            computes_s=np.full(self.steps, compute, np.float32),
            stalled_s=self.stall * seconds,
            wait_cpu_s=0.0,
            excluded=tuple(ExcludedTime(reason, 0.0, length) for reason, length in excluded_s.items()),  # type: ignore[arg-type]
        )
        host = HostStats(seconds, own_cores=self.own_cores, other_cores=self.other_cores, memory_free_mib=1e4)
        is_on_gpu = self.is_on_gpu or bool(self.gpus)
        return SessionLoad(window, self.padding, shapes=2, host=host, is_on_gpu=is_on_gpu, gpus=list(self.gpus))


def lines(case: Case, **settings: Any) -> list[str]:
    config = TrainConfig.model_validate({"steps": 1000, "validate_every": 250, "checkpoint_every": 300, **settings})
    return [str(one) for one in find_bottlenecks(case.load(), config=config)]


def gpu(used: float, *, utilisation: float | None = 99.0) -> GpuStats:
    return GpuStats(0, "H100", 80_000.0, used * 80_000.0, utilisation, power_w=1.0)


@pytest.mark.parametrize(
    ("case", "told", "remedied"),
    [
        (
            Case(compilation_s=100.0),
            "compile-bound: 49% of the time went to compiling or loading the step for 2 batch shapes; "
            "train more steps in a session or lower input.buckets",
            Case(compilation_s=30.0),
        ),
        (
            Case(validation_s=100.0),
            "validation-bound: 49% of the time went to validations, one in 250 steps; "
            "raise validate_every, or evaluate fewer clips: input.validation_clips",
            Case(validation_s=20.0),
        ),
        (
            Case(checkpoint_s=10.0),
            "checkpoint-bound: 8% of the time went to checkpoints, one in 300 steps; "
            "raise checkpoint_every (and validate_every: each best one is saved), or use a faster disk",
            Case(checkpoint_s=5.0),
        ),
        (
            Case(python=0.3),
            "Python-bound: in 30% of the training time the device neither computed nor waited for data; "
            "log less often: log_every (now 50); or larger batches: input.global_frames_per_batch",
            Case(python=0.05),
        ),
        (
            Case(padding=0.45),
            "shape-bound: 45% of the frames that are computed are padding; raise input.buckets (2 now)",
            Case(padding=0.25),
        ),
        (
            Case(other_cores=1.1),
            "core-bound: other programs keep 1.1 of 4 cores busy, and none is left; "
            "end them, or train where they are not",
            Case(other_cores=0.5),
        ),
    ],
    ids=["compile", "validation", "checkpoint", "Python", "shape", "core"],
)
def test_a_cause_is_named_and_no_longer_after_its_remedy(case: Case, told: str, remedied: Case) -> None:
    assert lines(case, log_every=50) == [told]
    assert [line.partition(":")[0] for line in lines(remedied)] == ["compute-bound"]


def test_the_cause_that_exceeds_its_bound_most_comes_first() -> None:
    # of 205 s: padding 1.4 times its bound, validations 1.5 times, checkpoints three times
    told = lines(Case(padding=0.42, checkpoint_s=31.0, validation_s=62.0, compilation_s=12.0))
    assert [line.partition("-")[0] for line in told] == ["checkpoint", "validation", "shape"]


def test_programs_that_the_next_session_loads_are_promised_only_where_they_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bottlenecks, "caches_training_programs", lambda: True)
    (told,) = lines(Case(compilation_s=100.0))
    assert told.endswith(" or lower input.buckets; the next session loads these programs")


def test_a_session_that_waits_for_data_is_not_called_compute_bound() -> None:
    assert lines(Case(stall=0.3)) == []


def test_of_a_session_of_a_few_steps_nothing_is_said() -> None:
    for steps in (0, 10):
        assert lines(Case(steps=steps, python=0.5, compilation_s=9.0, validation_s=9.0, checkpoint_s=9.0)) == []


def test_a_gpu_whose_kernels_seldom_run_is_not_called_busy() -> None:
    """Seen with `nano` on an H200: steps followed each other, and NVML saw kernels in 16 % of the time."""
    (told,) = lines(Case(gpus=(gpu(0.9, utilisation=16.0), gpu(0.9, utilisation=97.0)._replace(number=1))))
    assert told == (
        "launch-bound: in 81% of the training time a step was under way, and GPU 0 ran no kernel; "
        "larger batches, for more work in each kernel: input.global_frames_per_batch"
    )
    (told,) = lines(Case(python=0.3, gpus=(gpu(0.9, utilisation=60.0),)))
    assert told.startswith("Python-bound: in 30% ")
    (told,) = lines(Case(gpus=(gpu(0.9, utilisation=76.0),)), xla=False)
    assert told.startswith("launch-bound: in 21% ")
    assert told.endswith("; xla=true")


@pytest.mark.parametrize(
    ("case", "busy"),
    [
        (Case(gpus=(gpu(0.9, utilisation=80.0),)), "80%"),
        (Case(gpus=(gpu(0.9, utilisation=99.0),)), "97%"),
        (Case(gpus=(gpu(0.9, utilisation=None),)), "97%"),
    ],
)
def test_a_gpu_computes_while_its_kernels_run(case: Case, busy: str) -> None:
    (told,) = lines(case)
    assert told.startswith(f"compute-bound: the device computes in {busy} of the training time; ")


def test_a_few_seconds_of_nvml_say_nothing() -> None:
    load = Case(gpus=(gpu(0.9, utilisation=16.0),)).load()
    assert load.idle_gpu == (pytest.approx(0.81), 0)
    assert load._replace(window=load.window._replace(seconds=4.0)).idle_gpu == (0.0, 0)


def test_on_a_gpu_where_cores_are_free_and_where_not_every_core_is_seen_other_programs_are_not_blamed() -> None:
    free = Case(own_cores=1.0, other_cores=1.1)  # half of the cores are free
    for case in (free, Case(other_cores=3.0, is_on_gpu=True), Case(other_cores=None)):
        assert [line.partition(":")[0] for line in lines(case)] == ["compute-bound"]


@pytest.mark.parametrize(
    ("gpus", "settings", "advice"),
    [
        (None, {}, "a GPU or more cores"),
        ((), {}, "more GPUs"),  # NVML says nothing
        ((gpu(0.9),), {"model": {"precision": "float32"}}, "model.precision=bfloat16"),
        ((gpu(0.9),), {"xla": False}, "xla=true"),
        (
            (gpu(0.25), gpu(0.4)),
            {},
            "larger batches, for 40% of the GPU's memory is in use: input.global_frames_per_batch",
        ),
        ((gpu(0.9),), {}, "more GPUs"),
    ],
)
def test_what_would_make_the_computation_faster(
    gpus: tuple[GpuStats, ...] | None, settings: dict[str, Any], advice: str
) -> None:
    (told,) = lines(Case(gpus=gpus or (), is_on_gpu=gpus is not None), **settings)
    assert told == f"compute-bound: the device computes in 97% of the training time; to train faster, {advice}"
