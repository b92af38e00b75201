"""What limits a session of training: causes, each with its evidence and a remedy.

    time of a session = compilation + validations + checkpoints + other pauses + training
    training          = the device computes + it waits for data + neither: Python
    a GPU computes    = kernels run + a step is under way, and no kernel runs: launches

A cause is named where its share exceeds what a session that runs well has. Where there is no cause, the device
computes: the session is compute-bound, as it should be. `input_verdict` assesses the wait for data. Nothing is said of
a session of a few steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from trainer.config.train_config import TrainConfig
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.host_stats import HostStats
from trainer.monitoring.input_verdict import MAX_STALL, MIN_STEPS
from trainer.monitoring.step_timer import TimingWindow
from trainer.platform.first_calls import caches_training_programs
from trainer.platform.gpu_precision import slow_precision_warning
from trainer.platform.process import usable_cores

# shares of the session's time
MAX_COMPILATION, MAX_VALIDATION, MAX_CHECKPOINTS = 0.3, 0.2, 0.05
MAX_PYTHON, MAX_LAUNCHES = 0.1, 0.2  # of the training time
MAX_PADDING = 0.3  # of the frames that are computed
MAX_OTHER_CORES = 0.2  # of all cores, that other programs keep busy while no core is left
ALL_BUSY = 0.9  # of all cores
FULL_GPU = 0.6  # of a GPU's memory
MIN_NVML_S = 5.0  # each of NVML's samples is a mean over up to a second

Kind = Literal["compile", "validation", "checkpoint", "shape", "Python", "launch", "core", "compute"]


class Bottleneck(NamedTuple):
    """A cause that limits a session."""

    kind: Kind
    excess: float  # its share, in multiples of the bound
    evidence: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kind}-bound: {self.evidence}; {self.remedy}"


class SessionLoad(NamedTuple):
    """What a session did, and where its time went."""

    window: TimingWindow  # the whole session
    padding: float  # share of padding in the frames that are computed
    shapes: int  # of batches
    host: HostStats
    is_on_gpu: bool
    gpus: list[GpuStats]  # empty where NVML says nothing

    @property
    def seconds(self) -> float:
        """The time of the session, without the wait for the first batch."""
        excluded_s = sum(one.seconds for one in self.window.excluded if one.reason != "first batch")
        return self.window.seconds + excluded_s

    def share(self, reason: str) -> float:
        """The share of the session's time that was excluded from training for a reason."""
        return self.window.excluded_s(reason) / self.seconds

    @property
    def python(self) -> float:
        """The share of the training time in which the device neither computed nor waited for data."""
        return max(0.0, 1.0 - self.window.compute - self.window.stall)

    @property
    def idle_gpu(self) -> tuple[float, int]:
        """The share of the training time in which a step was under way and the GPU ran no kernel; and the GPU's number.

        Of several GPUs, the one that runs least. 0 where NVML knows nothing, or saw seconds only. The call of the step
        by Python is part of the step.
        """
        if self.window.seconds < MIN_NVML_S:
            return 0.0, 0
        known = [(gpu.utilisation, gpu.number) for gpu in self.gpus if gpu.utilisation is not None]
        percent, number = min(known, default=(100.0, 0))
        return max(0.0, self.window.compute - percent / 100.0), number


def find_bottlenecks(load: SessionLoad, *, config: TrainConfig) -> list[Bottleneck]:
    """The causes that limit a session, beginning with the one that exceeds its bound most.

    Without any, it is that the device computes. A session of a few steps, or one that waits for data, has none.
    """
    if len(load.window.waits_s) < MIN_STEPS:
        return []
    found = sorted(_causes(load, config), key=lambda one: -one.excess)
    return found if found or load.window.stall > MAX_STALL else [_compute(load, config)]


def _causes(load: SessionLoad, config: TrainConfig) -> Iterator[Bottleneck]:
    """The causes whose share exceeds its bound."""
    shares: tuple[tuple[Kind, float, float], ...] = (
        ("compile", load.share("compilation"), MAX_COMPILATION),
        ("validation", load.share("validation"), MAX_VALIDATION),
        ("checkpoint", load.share("checkpoint"), MAX_CHECKPOINTS),
        ("Python", load.python, MAX_PYTHON),
        ("launch", load.idle_gpu[0], MAX_LAUNCHES),
        ("shape", load.padding, MAX_PADDING),
        ("core", _others(load), MAX_OTHER_CORES),
    )
    for kind, share, most in shares:
        if share > most:
            evidence, remedy = _describe(kind, share, load=load, config=config)
            yield Bottleneck(kind, share / most, evidence, remedy)


def _others(load: SessionLoad) -> float:
    """The share of all cores that other programs keep busy; 0 where cores are left, and where a GPU computes."""
    if load.is_on_gpu or load.host.other_cores is None:
        return 0.0
    has_free_cores = load.host.own_cores + load.host.other_cores < ALL_BUSY * usable_cores()
    return 0.0 if has_free_cores else load.host.other_cores / usable_cores()


def _describe(kind: Kind, share: float, *, load: SessionLoad, config: TrainConfig) -> tuple[str, str]:
    """The evidence and the remedy of a cause."""
    match kind:
        case "compile":
            evidence = f"{share:.0%} of the time went to compiling or loading the step for {load.shapes} batch shapes"
            remedy = "train more steps in a session" + " or lower input.buckets" * (load.shapes > 1)
            return (
                evidence,
                f"{remedy}; the next session loads these programs" if caches_training_programs() else remedy,
            )
        case "validation":
            evidence = f"{share:.0%} of the time went to validations, one in {config.validate_every} steps"
            return evidence, "raise validate_every, or evaluate fewer clips: input.validation_clips"
        case "checkpoint":
            evidence = f"{share:.0%} of the time went to checkpoints, one in {config.checkpoint_every} steps"
            return evidence, "raise checkpoint_every (and validate_every: each best one is saved), or use a faster disk"
        case "Python":
            evidence = f"in {share:.0%} of the training time the device neither computed nor waited for data"
            often = f"log less often: log_every (now {config.log_every})"
            return evidence, f"{often}; or larger batches: input.global_frames_per_batch"
        case "launch":
            number = load.idle_gpu[1]
            evidence = f"in {share:.0%} of the training time a step was under way, and GPU {number} ran no kernel"
            larger = "larger batches, for more work in each kernel: input.global_frames_per_batch"
            return evidence, larger if config.xla else "xla=true"
        case "shape":
            return (
                f"{share:.0%} of the frames that are computed are padding",
                f"raise input.buckets ({load.shapes} now)",
            )
        case _:
            evidence = (
                f"other programs keep {load.host.other_cores:.1f} of {usable_cores()} cores busy, and none is left"
            )
            return evidence, "end them, or train where they are not"


def _compute(load: SessionLoad, config: TrainConfig) -> Bottleneck:
    """The device computes."""
    evidence = f"the device computes in {load.window.compute - load.idle_gpu[0]:.0%} of the training time"
    return Bottleneck("compute", 0.0, evidence, f"to train faster, {_faster(load, config)}")


def _faster(load: SessionLoad, config: TrainConfig) -> str:
    """What would make the computation itself faster."""
    if not load.is_on_gpu:
        return "a GPU or more cores"
    if config.model.precision == "float32" and slow_precision_warning("bfloat16") is None:
        return "model.precision=bfloat16"
    if not config.xla:
        return "xla=true"
    used = max((gpu.memory_peak_mib / gpu.memory_total_mib for gpu in load.gpus), default=1.0)
    if used < FULL_GPU:
        return f"larger batches, for {used:.0%} of the GPU's memory is in use: input.global_frames_per_batch"
    return "more GPUs"
