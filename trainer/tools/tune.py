"""`myxtts-train tune`: choose the settings on which speed and memory depend, by trials on this machine.

trials of the step ── precision, rematerialisation, microbatches, batch ──┐
a trial of the run ── batch shapes by measured costs, chunks, reads ──────┴─► a reason for each choice
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shared.config import Document
from shared.errors import UserError
from trainer.config.presets import merged
from trainer.config.train_config import TrainConfig
from trainer.tools.step_search import StepSearch, StepSettings, Trial
from trainer.tools.tuning_reasons import chunk_reason, reads_reason, step_reason
from trainer.tools.tuning_trials import run_trial

VALIDATION_SHARE = 0.2  # of the training program's compilation; a shape's validation program takes about so much more
MAX_RUN_TRIALS = 8

STEP_KEYS = {  # of the fields of StepSettings
    "precision": "model.precision",
    "rematerialise": "model.rematerialise",
    "microbatches": "optimizer.microbatches",
    "global_frames": "input.global_frames_per_batch",
}
TUNED_KEYS = {
    *STEP_KEYS.values(),
    "input.global_max_clips",
    "input.costs.compile_s",
    "input.costs.step_s_per_1000_frames",
    "input.buckets",
    "input.chunk_bytes",
    "input.num_parallel_reads",
}


class Choice(NamedTuple):
    """A setting that was chosen."""

    key: str
    value: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.key}={str(self.value).lower()}: {self.reason}"


class Tuned(NamedTuple):
    """The outcome of tuning."""

    machine: str
    document: Document  # the config's, with the choices
    choices: tuple[Choice, ...]
    kept: tuple[str, ...]  # keys that were given on the command line
    trials: tuple[Trial, ...]
    lines: tuple[str, ...]  # what a run takes with the choices


@dataclasses.dataclass(kw_only=True)
class Tuner:
    """Tunes a training config.

    Args:
        document: the config, with what was given on the command line.
        given: what was given on the command line alone; these settings keep their values.
        data: folder of the dataset.
        steps: of each row of steps that is timed.
        raise_batch: allow a larger batch than the config's, where it is faster.
        log: receives a line before and after each trial.
    """

    document: Document
    given: Document
    data: Path
    steps: int
    raise_batch: bool
    log: Callable[[str], object]

    def __post_init__(self) -> None:
        self._config = TrainConfig.model_validate(self.document)
        self._fixed = frozenset(leaves(self.given))
        self._fixed_fields = frozenset(field for field, key in STEP_KEYS.items() if key in self._fixed)
        if self._config.loss.adaptive:  # needs the gradients of a whole batch
            self._fixed_fields |= {"microbatches"}
        self._search = StepSearch(self._try_step, fixed=self._fixed_fields)

    def tune(self) -> Tuned:
        """Try and choose.

        Raises:
            UserError: no setting makes the training fit into memory, or the dataset cannot be trained on.
        """
        devices = self._run("devices", self.document)
        self.log(f"{self.data} on {devices['machine']}")
        precisions = self._precisions(devices["capability"])
        best = self._search.best(self._start(), precisions=precisions, raise_batch=self.raise_batch)
        if best is None:
            raise UserError(f"training does not fit into memory; {self._advice()}")
        best, document, facts = self._try_run(best)
        choices = (*self._step_choices(best), *self._input_choices(document, facts))
        for one in choices:
            document = merged(document, overrides=nested(one.key, one.value))
        trials = tuple(self._search.trials.values())
        kept = tuple(sorted(self._fixed & TUNED_KEYS))
        return Tuned(devices["machine"], document, choices, kept, trials, tuple(facts["lines"]))

    def _start(self) -> StepSettings:
        """Return the config's settings, in one part and without rematerialisation unless these are fixed."""
        config, fixed = self._config, self._fixed_fields
        return StepSettings(
            config.model.precision,
            config.model.rematerialise and "rematerialise" in fixed,
            config.optimizer.microbatches if "microbatches" in fixed else 1,
            config.input.global_frames_per_batch,
        )

    def _precisions(self, capability: list[int] | None) -> list[str]:
        """Return the precisions that may be the fastest; a later one must be clearly faster to be chosen.

        Args:
            capability: compute capability of the GPUs; None: CPUs.
        """
        if "precision" in self._fixed_fields:
            return [self._config.model.precision]
        if capability is None:
            return ["float32", "bfloat16"]
        if tuple(capability) >= (8, 0):
            return ["bfloat16"]
        return ["float32", "float16"] if tuple(capability) >= (7, 0) else ["float32"]

    def _advice(self) -> str:
        """Say what to change if nothing fits."""
        fixed = [key for field, key in STEP_KEYS.items() if field in self._fixed_fields and field != "precision"]
        leave = f"leave {', '.join(fixed)} to the tuning, or " if fixed else ""
        return f"{leave}lower model.size or input.max_frames"

    def _with_step(self, settings: StepSettings) -> Document:
        """Return the config's document with these settings; the most clips of a batch grow with its frames."""
        document = self.document
        for field, key in STEP_KEYS.items():
            document = merged(document, overrides=nested(key, getattr(settings, field)))
        if "input.global_max_clips" in self._fixed:
            return document
        growth = settings.global_frames / self._config.input.global_frames_per_batch
        clips = math.ceil(growth * self._config.input.global_max_clips)
        return merged(document, overrides=nested("input.global_max_clips", clips))

    def _try_step(self, settings: StepSettings) -> Trial:
        self.log(f"{settings}: compiling, then {self.steps} steps in a row, three times")
        facts = self._run("step", merged(self._with_step(settings), overrides=nested("input.buckets", 1)))
        if "clips" not in facts:
            raise UserError(f"{self.data}: the memory of the host does not suffice to plan the batches")
        speed = facts["frames"] / facts["step_s"] if facts["fits"] else 0.0
        measured = facts.get("compile_s", 0.0), facts.get("memory_mib")
        trial = Trial(settings, facts["fits"], facts["clips"], facts["epoch_batches"], speed, *measured)
        self.log(f"    {trial}")
        return trial

    def _run(self, trial: Any, document: Document) -> dict[str, Any]:
        config = TrainConfig.model_validate(document)
        return run_trial(trial, config=config, data=self.data, steps=self.steps, fixed=self._fixed, log=self.log)

    def _try_run(self, best: Trial) -> tuple[Trial, Document, Mapping[str, Any]]:
        """Measure every batch shape of a run and its input; where a shape does not fit, take less at a time."""
        for _ in range(MAX_RUN_TRIALS):
            if best.fits:
                self.log(f"{best.settings}: all batch shapes, and the input")
                document = self._with_costs(self._with_step(best.settings), step=best)
                facts = self._run("run", document)
                if facts["fits"]:
                    return best, document, facts
                self.log(f"    {best.settings}: a batch shape does not fit into memory")
                self._search.trials[best.settings] = best._replace(fits=False)
            best = self._search.try_step(self._smaller(best.settings))
        raise UserError(f"some batch shapes do not fit into memory; {self._advice()}")

    def _with_costs(self, document: Document, *, step: Trial) -> Document:
        """Let the costs of the step decide the number of shapes."""
        costs = {
            "input.buckets": None,
            "input.costs.compile_s": (1 + VALIDATION_SHARE) * step.compile_s,
            "input.costs.step_s_per_1000_frames": 1000 / step.frames_per_s,
        }
        for key, value in costs.items():
            if key not in self._fixed:
                document = merged(document, overrides=nested(key, value))
        return document

    def _smaller(self, settings: StepSettings) -> StepSettings:
        """Return a batch of three quarters if it was raised, else the batch in one part more."""
        configured = self._config.input.global_frames_per_batch
        if settings.global_frames > configured:
            return settings._replace(global_frames=max(configured, 3 * settings.global_frames // 4))
        if "microbatches" in self._fixed_fields:
            raise UserError(f"some batch shapes do not fit into memory; {self._advice()}")
        return settings._replace(microbatches=settings.microbatches + 1)

    def _step_choices(self, best: Trial) -> Iterator[Choice]:
        trials = list(self._search.trials.values())
        for field, key in STEP_KEYS.items():
            if field not in self._fixed_fields:
                yield Choice(key, getattr(best.settings, field), step_reason(field, best=best, trials=trials))

    def _input_choices(self, document: Document, facts: Mapping[str, Any]) -> Iterator[Choice]:
        found = {
            "input.global_max_clips": (document["input"]["global_max_clips"], "in proportion to the batch's frames"),
            "input.costs.compile_s": (round(facts["compile_s"], 1), "measured, median of the shapes"),
            "input.costs.step_s_per_1000_frames": (float(f"{facts['frames_s']:.3g}"), "measured, median of the shapes"),
            "input.buckets": (facts["shapes"], facts["explanation"]),
            "input.chunk_bytes": (facts["chunk_bytes"], chunk_reason(facts)),
            "input.num_parallel_reads": (facts["num_parallel_reads"], reads_reason(facts)),
        }
        yield from (Choice(key, *value) for key, value in found.items() if key not in self._fixed)


def leaves(document: Document, *, prefix: str = "") -> Iterator[str]:
    """The keys of all values in a document, as `section.key`."""
    for name, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, prefix=f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def nested(key: str, value: Any) -> Document:
    """Return a document with one value, at `section.key`."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return value
