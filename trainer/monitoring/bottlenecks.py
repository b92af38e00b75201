"""What limits a session of training: causes, each with its evidence and a remedy.

    time of a session = first batch + compilation + validations + checkpoints + training
    training          = the device computes + it waits for data + neither: Python

A cause is named where its share exceeds what a session that runs well has. Where none is, the device computes: the
session is compute-bound, as it should be. The wait for data is assessed by `input_verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from trainer.config.train_config import TrainConfig
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.host_stats import HostStats
from trainer.monitoring.input_verdict import MAX_STALL, MIN_STEPS
from trainer.monitoring.step_timer import TimingWindow
from trainer.platform.process import usable_cores

# shares of the session's time
MAX_COMPILATION, MAX_VALIDATION, MAX_CHECKPOINTS = 0.3, 0.2, 0.05
MAX_PYTHON = 0.1  # of the training time
MAX_PADDING = 0.3  # of the frames that are computed
MAX_OTHER_CORES = 0.2  # of all cores, that other programs keep busy
FULL_GPU = 0.6  # of a GPU's memory

Kind = Literal["compile", "validation", "checkpoint", "shape", "Python", "core", "compute"]


class Bottleneck(NamedTuple):
    """A cause that limits a session."""

    kind: Kind
    share: float  # of the time that it takes, or of the work that is in vain
    evidence: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kind}-bound: {self.evidence}; {self.remedy}"


class SessionLoad(NamedTuple):
    """What a session did and where its time went."""

    window: TimingWindow  # the whole session
    padding: float  # share of padding in the frames that are computed
    programs: int  # compiled or loaded, of training
    shapes: int  # of batches
    host: HostStats
    gpus: list[GpuStats]

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


def find_bottlenecks(load: SessionLoad, *, config: TrainConfig) -> list[Bottleneck]:
    """The causes that limit a session, the greatest first; compute alone where there is no other."""
    found = sorted(_causes(load, config), key=lambda one: -one.share)
    if found or len(load.window.waits_s) < MIN_STEPS or load.window.stall > MAX_STALL:
        return found
    return [_compute(load, config)]


def _causes(load: SessionLoad, config: TrainConfig) -> Iterator[Bottleneck]:
    """The causes whose share exceeds its bound."""
    shares: tuple[tuple[Kind, float, float], ...] = (
        ("compile", load.share("compilation"), MAX_COMPILATION),
        ("validation", load.share("validation"), MAX_VALIDATION),
        ("checkpoint", load.share("checkpoint"), MAX_CHECKPOINTS),
        ("Python", load.python if len(load.window.waits_s) >= MIN_STEPS else 0.0, MAX_PYTHON),
        ("shape", load.padding, MAX_PADDING),
        ("core", _others(load), MAX_OTHER_CORES),
    )
    for kind, share, most in shares:
        if share > most:
            evidence, remedy = _describe(kind, share, load=load, config=config)
            yield Bottleneck(kind, share, evidence, remedy)


def _others(load: SessionLoad) -> float:
    """The share of all cores that other programs keep busy; 0 on a GPU, where cores only prepare data."""
    return 0.0 if load.gpus or load.host.other_cores is None else load.host.other_cores / usable_cores()


def _describe(kind: Kind, share: float, *, load: SessionLoad, config: TrainConfig) -> tuple[str, str]:
    """The evidence and the remedy of a cause."""
    buckets = f"input.buckets (now {load.shapes})"
    match kind:
        case "compile":
            evidence = f"{share:.0%} of the time went to compiling {load.programs} programs, one for each batch shape"
            remedy = f"lower {buckets}" if load.shapes > 1 else "train more steps in a session"
            return evidence, f"{remedy}; the next session loads the programs of this one"
        case "validation":
            evidence = f"{share:.0%} of the time went to validations, one in {config.validate_every} steps"
            return evidence, "raise validate_every, or evaluate fewer clips: input.validation_clips"
        case "checkpoint":
            evidence = f"{share:.0%} of the time went to checkpoints, one in {config.checkpoint_every} steps"
            return evidence, "raise checkpoint_every, or keep RUN on a faster disk"
        case "Python":
            evidence = f"in {share:.0%} of the training time the device neither computed nor waited for data"
            often = f"log less often: log_every (now {config.log_every})"
            return evidence, f"{often}; or larger batches: input.global_frames_per_batch"
        case "shape":
            return f"{share:.0%} of the frames that are computed are padding", f"raise {buckets}"
        case _:
            evidence = f"other programs keep {load.host.other_cores:.1f} of {usable_cores()} cores busy"
            return evidence, "end them, or train where they are not"


def _compute(load: SessionLoad, config: TrainConfig) -> Bottleneck:
    return Bottleneck(
        "compute",
        load.window.compute,
        f"the device computes in {load.window.compute:.0%} of the training time",
        f"to train faster, {_faster(load, config)}",
    )


def _faster(load: SessionLoad, config: TrainConfig) -> str:
    """What would make the computation itself faster."""
    if not load.gpus:
        return "a GPU or more cores"
    if config.model.precision == "float32":
        return "model.precision=bfloat16"
    if not config.xla:
        return "xla=true"
    used = max(gpu.memory_peak_mib / gpu.memory_total_mib for gpu in load.gpus)
    if used < FULL_GPU:
        return f"larger batches, for {used:.0%} of the GPU's memory is in use: input.global_frames_per_batch"
    return "more GPUs"
