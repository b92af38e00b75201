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
from shared.locks import read_lock
from trainer.checkpoint.checkpoint import CheckpointFile, find_checkpoint
from trainer.checkpoint.run_dir import load_trained_model, prepare_run_info, read_run_info
from trainer.config.loss_config import LossConfig
from trainer.config.synthesis_eval_config import SynthesisEvalConfig
from trainer.data.buckets import Bucket
from trainer.data.dataset_checks import open_dataset
from trainer.data.pipeline import Stream
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, bucket_of, translate_oom, translate_oom_in_input
from trainer.distributed.devices import Devices
from trainer.monitoring.compilation import CompilationLogger
from trainer.monitoring.logger import with_null
from trainer.platform.tf_errors import is_out_of_memory
from trainer.training.data_module import DataModule
from trainer.training.synthesis_eval import SynthesisEval, synthesis_metrics
from trainer.training.train_step import Batch, EvalStep
from trainer.training.validation import evaluate_batches


class EvalResult(NamedTuple):
    """Of a checkpoint."""

    checkpoint: CheckpointFile
    clips: int  # that the losses are over
    losses: dict[str, float]  # raw; weighted and summed as `loss`
    spoken: dict[str, float]  # nothing where no clip was


def evaluate_run(run: Path, *, data: Path, checkpoint: str | None = None, spoken: int | None = None) -> EvalResult:
    """Judge a run's checkpoint, by the moving average of its weights where it has one.

    Args:
        data: of the run's contract and vocabulary; whose validation split judges.
        checkpoint: "best", "last" or a step; None is the best where there is one, and else the last.
        spoken: clips; None is as many as the run speaks at validation.

    Raises:
        UserError: no such checkpoint, or data of another contract or without a clip to judge by.
    """
    saved = find_checkpoint(run, checkpoint)
    with read_lock(data):
        dataset, trained = open_dataset(data), read_run_info(run)
        config = trained.config
        info = prepare_run_info(run, config=config, dataset=dataset)
        feed = DataModule(config, dataset=dataset, run=run, info=info, devices=info.devices)
        stream, buckets = feed.validation, feed.validation_plan.buckets
        model, progress = load_trained_model(run, saved, info=info)  # the best may be another by now
        speaks = config.synthesis_eval if spoken is None else SynthesisEvalConfig(clips=spoken)
        running = SynthesisEval(
            model, config=speaks, dataset=dataset, lengths=trained.lengths, seed=config.seed, xla=config.xla
        )
        step = EvalStep(model, losses=config.loss, seed=config.seed, xla=config.xla)
        for line in feed.validation_plan.sampled_lines:
            _log(line)
        losses = _losses(stream, buckets=buckets, step=step, running=running, losses=config.loss)
        clips = len({*stream.heard.tolist()} - {one.row for one in stream.damaged})
        if speaks.clips:
            _log(f"speaking {min(speaks.clips, clips)} of the clips")
        return EvalResult(saved._replace(step=progress.step), clips, losses, _spoken(running))


def _losses(
    stream: Stream, *, buckets: tuple[Bucket, ...], step: EvalStep, running: SynthesisEval, losses: LossConfig
) -> dict[str, float]:
    batches = _announced(translate_oom_in_input(stream.once(device=Devices(Hosts()).first, tell=_log)), buckets=buckets)
    shown = _shown(running.collect_clips(batches, stream=stream), clips=len(stream.heard))
    try:
        validated = evaluate_batches(shown, step=lambda batch: translate_oom(step, batch), losses=losses)
    except OutOfMemory as event:
        raise UserError(
            f"out of memory in bucket {event.bucket} (clips×frames×tokens); free the device, or use the CPU: "
            "CUDA_VISIBLE_DEVICES=-1"
        ) from event
    if validated is None:
        raise UserError("no clip of the validation split is sound and short enough to judge by, or there is none")
    return validated.losses


def _spoken(running: SynthesisEval) -> dict[str, float]:
    """Nothing where no clip was, or where there is no memory for it."""
    try:
        samples = running.synthesize()
    except tf.errors.OpError as error:
        if not is_out_of_memory(error):
            raise
        _log("out of memory while clips were spoken: left out; ask for fewer with --clips")
        return {}
    return synthesis_metrics(samples) if samples else {}


def _log(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _announced(batches: Iterable[Batch], *, buckets: tuple[Bucket, ...]) -> Iterator[Batch]:
    """The batches, with a line before the program of each shape is compiled."""
    compilations = CompilationLogger(_log)
    for batch in batches:
        compilations.log_once("validation", bucket_of(batch), of=buckets)
        yield batch


def _shown(batches: Iterable[Batch], *, clips: int) -> Iterator[Batch]:
    """The batches, with a line that says how many clips are judged, and the time that is left."""
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("clips judged", total=clips)
        for batch in batches:
            yield batch
            progress.advance(task, int(tf.math.count_nonzero(batch["frames"])))


def write_eval_result(result: EvalResult, *, run: Path, data: Path) -> None:
    """`RUN/evaluation.json`, with null for what is no number.

    Raises:
        UserError: it is not writable.
    """
    saved, path = result.checkpoint, run / "evaluation.json"
    figures = {group: with_null(values) for group, values in (("losses", result.losses), ("spoken", result.spoken))}
    facts = {"checkpoint": saved.path.name, "step": saved.step, "data": str(data), "clips": result.clips}
    try:
        write_json(path, {**facts, **figures})
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); what it would say is above") from error


def eval_table(result: EvalResult) -> Table:
    """For people."""
    table = Table("figure", "value")
    table.columns[1].justify = "right"
    for name, value in {**result.losses, **result.spoken}.items():
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
