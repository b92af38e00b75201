"""`myxtts-train tune`: choose the settings on which speed and memory depend, by trials on this machine.

trials of the step ── precision, rematerialisation, microbatches, batch ──┐
a trial of the run ── batch shapes by measured costs, chunks, reads ──────┴─► a reason for each choice
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shared.config import Document
from shared.errors import UserError
from trainer.config.presets import merged
from trainer.config.train_config import TrainConfig
from trainer.tools.step_search import StepSearch, StepSettings, Trial
from trainer.tools.tuning_reasons import buckets_reason, chunk_reason, reads_reason, step_reason
from trainer.tools.tuning_trials import run_trial

VALIDATION_SHARE = 0.2  # of the training program's compilation; a shape's validation program takes about so much more
MAX_RUN_TRIALS = 8

STEP_KEYS = {  # of the fields of StepSettings
    "precision": "model.precision",
    "rematerialise": "model.rematerialise",
    "microbatches": "optimizer.microbatches",
    "global_frames": "input.global_frames_per_batch",
}


class Choice(NamedTuple):
    """A setting that was chosen."""

    key: str
    value: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.key}={'null' if self.value is None else str(self.value).lower()}: {self.reason}"


class Tuned(NamedTuple):
    """The outcome of tuning."""

    machine: str
    document: Document  # the config's, with the choices
    choices: tuple[Choice, ...]
    trials: tuple[Trial, ...]
    lines: tuple[str, ...]  # what a run takes with the choices


@dataclasses.dataclass(kw_only=True)
class Tuner:
    """Tunes a training config; settings given on the command line keep their values.

    Args:
        document: the config, with the command line's overrides.
        fixed: keys that were given on the command line.
        data: folder of the dataset.
        steps: of each row of steps that is timed.
        raise_batch: allow a larger batch than the config's, where it is faster.
        log: receives a line before and after each trial.
    """

    document: Document
    fixed: Sequence[str]
    data: Path
    steps: int
    raise_batch: bool
    log: Callable[[str], object]

    def __post_init__(self) -> None:
        self._config = TrainConfig.model_validate(self.document)
        self._devices: Mapping[str, Any] = {}

    def tune(self) -> Tuned:
        """Try and choose.

        Raises:
            UserError: no setting makes the training fit into memory, or the dataset cannot be trained on.
        """
        search = StepSearch(self._try_step, fixed=frozenset(self._fixed_fields()))
        start = self._start()
        search.try_step(start)  # tells which devices there are
        best = search.best(start, precisions=self._precisions(), raise_batch=self.raise_batch)
        if best is None:
            raise UserError("not even single clips fit into memory: lower model.size or input.max_frames")
        best, document, facts = self._try_run(best)
        choices = [*self._step_choices(best, trials=list(search.trials.values())), *self._input_choices(best, facts)]
        for one in choices:
            document = merged(document, overrides=_nested(one.key, one.value))
        trials = tuple(search.trials.values())
        return Tuned(self._devices["machine"], document, tuple(choices), trials, tuple(facts["lines"]))

    def _start(self) -> StepSettings:
        """Return the config's settings, in one part and without rematerialisation unless these are fixed."""
        config = self._config
        return StepSettings(
            config.model.precision,
            config.model.rematerialise and self._is_fixed(STEP_KEYS["rematerialise"]),
            config.optimizer.microbatches if self._is_fixed(STEP_KEYS["microbatches"]) else 1,
            config.input.global_frames_per_batch,
        )

    def _is_fixed(self, key: str) -> bool:
        return any(key == one or key.startswith(f"{one}.") for one in self.fixed)

    def _fixed_fields(self) -> Iterator[str]:
        for field, key in STEP_KEYS.items():
            if self._is_fixed(key) or (field == "microbatches" and self._config.loss.adaptive):
                yield field

    def _precisions(self) -> list[str]:
        """Return the precisions that may be the fastest on the devices; of equally fast ones the first is taken."""
        capability = self._devices["capability"]
        if self._is_fixed(STEP_KEYS["precision"]):
            return [self._config.model.precision]
        if capability is None:  # CPUs
            return ["float32", "bfloat16"]
        if tuple(capability) >= (8, 0):
            return ["bfloat16"]
        return ["float32", "float16"] if tuple(capability) >= (7, 0) else ["float32"]

    def _with_step(self, settings: StepSettings) -> Document:
        """Return the config's document with these settings; the most clips of a batch grow with its frames."""
        document = self.document
        for field, key in STEP_KEYS.items():
            document = merged(document, overrides=_nested(key, getattr(settings, field)))
        growth = settings.global_frames / self._config.input.global_frames_per_batch
        clips = math.ceil(growth * self._config.input.global_max_clips)
        return merged(document, overrides=_nested("input.global_max_clips", clips))

    def _try_step(self, settings: StepSettings) -> Trial:
        self.log(f"{settings}: compiling, then {self.steps} steps in a row, some times")
        document = merged(self._with_step(settings), overrides=_nested("input.buckets", 1))
        facts = self._run("step", document)
        self._devices = facts
        speed = facts["frames"] / facts["step_s"] if facts["fits"] else 0.0
        trial = Trial(
            settings,
            facts["fits"],
            facts["clips"],
            facts["epoch_batches"],
            speed,
            facts.get("compile_s", 0.0),
            facts.get("memory_mib"),
        )
        self.log(f"    {trial}")
        return trial

    def _run(self, trial: Any, document: Document) -> Mapping[str, Any]:
        return run_trial(trial, config=TrainConfig.model_validate(document), data=self.data, steps=self.steps)

    def _try_run(self, best: Trial) -> tuple[Trial, Document, Mapping[str, Any]]:
        """Measure every batch shape of a run and its input; where a shape does not fit, with smaller parts."""
        for _ in range(MAX_RUN_TRIALS):
            self.log(f"{best.settings}: all batch shapes, and the input")
            document = self._with_costs(self._with_step(best.settings), step=best)
            facts = self._run("run", document)
            if facts["fits"]:
                return best, document, facts
            best = best._replace(settings=self._smaller(best.settings))
        raise UserError("some batch shapes do not fit into memory: lower input.max_frames or model.size")

    def _with_costs(self, document: Document, *, step: Trial) -> Document:
        """Let the measured costs decide the number of shapes."""
        costs = {
            "input.buckets": None,
            "input.costs.compile_s": round((1 + VALIDATION_SHARE) * step.compile_s, 1),
            "input.costs.step_s_per_1000_frames": float(f"{1000 / step.frames_per_s:.3g}"),
        }
        for key, value in costs.items():
            if not self._is_fixed(key):
                document = merged(document, overrides=_nested(key, value))
        return document

    def _smaller(self, settings: StepSettings) -> StepSettings:
        """Return a batch that was raised by a tenth less, or the batch in one part more."""
        configured = self._config.input.global_frames_per_batch
        if settings.global_frames > configured:
            return settings._replace(global_frames=max(configured, int(0.9 * settings.global_frames)))
        return settings._replace(microbatches=settings.microbatches + 1)

    def _step_choices(self, best: Trial, *, trials: Sequence[Trial]) -> Iterator[Choice]:
        for field, key in STEP_KEYS.items():
            if field not in set(self._fixed_fields()):
                yield Choice(key, getattr(best.settings, field), step_reason(field, best=best, trials=trials))

    def _input_choices(self, best: Trial, facts: Mapping[str, Any]) -> Iterator[Choice]:
        chosen = TrainConfig.model_validate(self._with_costs(self._with_step(best.settings), step=best)).input
        reads = facts["num_parallel_reads"], reads_reason(facts)
        found = {
            "input.global_max_clips": (chosen.global_max_clips, "in proportion to the frames of a batch"),
            "input.costs.compile_s": (chosen.costs.compile_s, "measured; validation's program estimated"),
            "input.costs.step_s_per_1000_frames": (chosen.costs.step_s_per_1000_frames, "measured"),
            "input.buckets": (chosen.buckets, buckets_reason(facts)),
            "input.chunk_bytes": (facts["chunk_bytes"], chunk_reason(facts)),
            "input.num_parallel_reads": reads,
        }
        yield from (Choice(key, *value) for key, value in found.items() if not self._is_fixed(key))


def _nested(key: str, value: Any) -> Document:
    """Return a document with one value, at `section.key`."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return value
