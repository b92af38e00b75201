"""`RUN/summary.json`: the result of one session of training, also as lines for the terminal."""

from __future__ import annotations

from pathlib import Path

import pydantic

from shared.errors import writing
from shared.files import write_json
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.step_timer import ExcludedTime


class CompiledPrograms(pydantic.BaseModel):
    """Numbers of XLA programs, compiled or loaded, and of the batch shapes that need one."""

    model_config = pydantic.ConfigDict(frozen=True)

    train: int
    validation: int
    speech: int = 0  # synthesis of validation clips, at most one
    shapes: int

    def __str__(self) -> str:
        speech = f", {self.speech} for synthesis" if self.speech else ""
        return (
            f"XLA programs: {self.train} for training, {self.validation} for validation{speech} "
            f"(bucket shapes: {self.shapes})"
        )


class Summary(pydantic.BaseModel):
    """The content of `RUN/summary.json`."""

    model_config = pydantic.ConfigDict(frozen=True)

    data: str  # path of the dataset
    first_step: int
    last_step: int
    device: str
    allocator: str
    training_s: float  # without the times below
    first_batch_s: float
    compilation_s: float
    validation_s: float
    checkpoint_s: float
    pause_s: float  # other pauses: the start, and waits for other hosts and for the last checkpoint
    figures: dict[str, float]  # metrics of the training time
    gpus: list[GpuStats]
    memory_mib: float | None  # resident memory of the process at the end
    programs: CompiledPrograms
    verdicts: tuple[str, ...]  # whether the input keeps up, then what limits the training
    excluded: tuple[ExcludedTime, ...] = pydantic.Field(exclude=True)

    @pydantic.field_serializer("gpus")
    def _named(self, gpus: list[GpuStats]) -> list[dict[str, int | str | float | None]]:
        return [one._asdict() for one in gpus]

    def lines(self) -> list[str]:
        """The summary as lines for the terminal."""
        lines = [
            f"steps {self.first_step} to {self.last_step}: training {_duration(self.training_s)}; besides, first "
            f"batch {_duration(self.first_batch_s)}, compilation {_duration(self.compilation_s)}, "
            f"validations {_duration(self.validation_s)}, checkpoints {_duration(self.checkpoint_s)}, "
            f"other pauses {_duration(self.pause_s)}"
        ]
        if self.figures:
            lines.append(
                "{frames_per_second:,.0f} frames/s, {clips_per_second:,.1f} clips/s; a step computes "
                "{compute_median_ms:.1f} ms (95 %: {compute_p95_ms:.1f}, longest {compute_max_ms:.1f}), waits for data "
                "{wait_median_ms:.1f} ms (95 %: {wait_p95_ms:.1f}, longest {wait_max_ms:.1f})".format(**self.figures)
            )
        return [*lines, *map(str, self.gpus), str(self.programs), *self.verdicts]


def write_summary(summary: Summary, *, run: Path) -> None:
    """Write `RUN/summary.json`.

    Raises:
        UserError: the disk is full or fails.
    """
    path = run / "summary.json"
    with writing(path, advice="make room"):
        write_json(path, summary)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{rest:.1f} s" if minutes < 1 else f"{minutes:.0f} min {rest:.0f} s"
