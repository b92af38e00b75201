"""A checkpoint judged by itself: the losses of a dataset's validation split, and some of its clips as they are spoken.

The same figures as of a validation in training, by the same programs, whenever and on whatever clips one likes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from shared.errors import UserError
from shared.files import write_json
from shared.lock import reading
from shared.vocabulary import Vocabulary
from trainer.checkpoints import Saved, choose_checkpoint, load_checkpoint
from trainer.devices import Devices
from trainer.free_running import FreeRunning, FreeRunningConfig, judge
from trainer.hosts import Hosts
from trainer.input.guards import open_dataset
from trainer.input.plan import plan_dataset
from trainer.input.stream import Stream
from trainer.memory import fed_within_memory
from trainer.run import enter_run, make_model, open_run
from trainer.step import Batch, EvaluationStep
from trainer.validation import validate


class Judgement(NamedTuple):
    """Of a checkpoint."""

    checkpoint: Saved
    clips: int  # that the losses are over
    losses: dict[str, float]  # raw; weighted and summed as `loss`
    spoken: dict[str, float]  # nothing where no clip was


def evaluate_run(run: Path, *, data: Path, checkpoint: str | None = None, spoken: int | None = None) -> Judgement:
    """Judge a run's checkpoint, by the moving average of its weights where it has one; `RUN/evaluation.json` has it.

    Args:
        data: of the run's contract and vocabulary; whose validation split judges.
        checkpoint: "best", "last" or a step; None is the best where there is one, and else the last.
        spoken: clips; None is as many as the run speaks at validation.

    Raises:
        UserError: no such checkpoint, data of another contract or without a clip to judge by, or RUN is not writable.
    """
    saved = choose_checkpoint(run, checkpoint)
    with reading(data):
        judgement = _judged(run, saved, data=data, spoken=spoken)
    facts = {"checkpoint": saved.path.name, "step": saved.step, "data": str(data), "clips": judgement.clips}
    figures = {"losses": judgement.losses, "spoken": judgement.spoken}
    try:
        write_json(run / "evaluation.json", {**facts, **figures})
    except OSError as error:
        raise UserError(f"{run}/evaluation.json: cannot be written ({error.strerror}); make room") from error
    return judgement


def _judged(run: Path, saved: Saved, *, data: Path, spoken: int | None) -> Judgement:
    dataset, config = open_dataset(data), open_run(run).config
    info = enter_run(run, config=config, dataset=dataset)
    plan = plan_dataset(
        dataset, config=config.input, frames_per_step=config.model.frames_per_step, steps=info.planned_steps
    ).below(info.ceilings)
    stream = Stream(dataset, split="validation", plan=plan, config=config.input, seed=config.seed)
    if not len(stream.heard):
        raise UserError(f"{data}: no clip of the validation split is short enough to judge by, or there is none")
    model = make_model(config, contract=info.contract, vocabulary=Vocabulary.load(run / "vocab.json"))
    load_checkpoint(saved.path, model=model, contract=info.contract.fingerprint)
    speaks = config.free_running if spoken is None else FreeRunningConfig(clips=spoken)
    step = EvaluationStep(model, losses=config.loss, seed=config.seed, xla=config.xla)
    running = FreeRunning(model, config=speaks, dataset=dataset, seed=config.seed, xla=config.xla)
    batches = fed_within_memory(stream.once(device=Devices(Hosts()).first, tell=_tell))
    shown = _shown(running.overhear(batches, stream=stream), clips=len(stream.heard))
    validated = validate(shown, step=step, losses=config.loss)
    if validated is None:
        raise UserError(
            f"{data}: every record of the validation split is corrupt; `make validate DATA={data}` names them"
        )
    samples = running.speak()
    return Judgement(saved, len(stream.heard), validated.losses, judge(samples) if samples else {})


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _shown(batches: Iterable[Batch], *, clips: int) -> Iterator[Batch]:
    """The batches, with a line that says how many clips are judged, and the time that is left."""
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("clips judged", total=clips)
        for batch in batches:
            yield batch
            progress.advance(task, int(tf.math.count_nonzero(batch["frames"])))


def judgement_table(judgement: Judgement) -> Table:
    """For people."""
    table = Table(
        "figure", "value", title=f"{judgement.checkpoint}, on {judgement.clips:,} clips", title_justify="left"
    )
    table.columns[1].justify = "right"
    for name, value in {**judgement.losses, **judgement.spoken}.items():
        table.add_row(_words(name), f"{value:.4f}" if math.isfinite(value) else "no number")
    return table


def _words(name: str) -> str:
    """Of a figure's name."""
    spoken = {
        "free_length_error": "spoken: length off by, share",
        "free_mel_distance_db": "spoken: mel distance, dB",
        "free_moves": "spoken: steps that move on, share",
        "free_ended": "spoken: clips that ended, share",
    }
    return spoken.get(name, name.replace("_", " "))
