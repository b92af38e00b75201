"""`myxtts-train evaluate`: losses and synthesis metrics of a checkpoint on the validation or test split of a dataset.

The metrics are those of the validation in training, computed by the same programs.
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

from shared.dataset import Dataset, contract_differences
from shared.errors import UserError, writing
from shared.files import write_json
from shared.locks import read_lock
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import find_checkpoint
from trainer.checkpoint.checkpoint_files import CheckpointFile
from trainer.checkpoint.run_dir import RunInfo, load_trained_model, read_run_info
from trainer.config.loss_config import LossConfig
from trainer.data.bucket_types import Bucket
from trainer.data.dataset_checks import open_dataset
from trainer.data.pipeline import Stream
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, bucket_of, translate_oom, translate_oom_in_input
from trainer.distributed.devices import Devices
from trainer.monitoring.compilation import CompilationLogger
from trainer.monitoring.logger import with_null
from trainer.platform.tf_errors import is_out_of_memory
from trainer.training.data_module import DataModule
from trainer.training.synthesis_eval import SynthesisEval
from trainer.training.train_step import Batch, EvalStep
from trainer.training.validation import evaluate_batches

MAX_SHOWN = 5  # tokens in a message


class EvalResult(NamedTuple):
    """The metrics of a checkpoint."""

    checkpoint: CheckpointFile
    split: str
    clips: int  # number of clips in the losses
    losses: dict[str, float]  # raw terms, and their weighted sum as `loss`
    spoken: dict[str, float]  # synthesis metrics; empty if no clip was synthesized


def evaluate_run(
    run: Path, *, data: Path, split: str = "validation", checkpoint: str | None = None, spoken: int | None = None
) -> EvalResult:
    """Evaluate a checkpoint of a run, with the moving average of its weights if it has one.

    Args:
        data: a dataset with the contract and the vocabulary of the run.
        split: validation or test.
        checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
        spoken: number of clips to synthesize; None is the number that the run synthesizes at validation.

    Raises:
        UserError: there is no such checkpoint, the data have another contract or vocabulary, or no usable clip.
    """
    saved = find_checkpoint(run, checkpoint)
    with read_lock(data):
        dataset, trained = open_dataset(data), read_run_info(run)
        config = trained.config
        check_data(trained, dataset=dataset, run=run)
        feed = DataModule(
            config,
            dataset=dataset,
            run=run,
            info=trained,
            devices=trained.devices,
            vocabulary=Vocabulary.load(run / "vocab.json"),
            held_out=split,
        )
        stream, buckets = feed.validation, feed.validation_plan.buckets
        model, progress = load_trained_model(run, saved, info=trained)  # the best may be another by now
        speaks = config.synthesis_eval if spoken is None else config.synthesis_eval.model_copy(update={"clips": spoken})
        running = SynthesisEval(
            model, config=speaks, dataset=dataset, lengths=trained.lengths, seed=config.seed, xla=config.xla
        )
        step = EvalStep(model, losses=config.loss, seed=config.seed, xla=config.xla)
        for line in feed.validation_plan.validation_subset_lines:
            _log(line)
        compilations = CompilationLogger(_log, xla=config.xla)
        losses = _losses(
            stream, buckets=buckets, step=step, running=running, losses=config.loss, compilations=compilations
        )
        clips = len({*stream.sampled_rows.tolist()} - {one.row for one in stream.corrupt_records})
        if speaks.clips:
            _log(f"synthesizing {min(speaks.clips, clips)} of the clips")
        return EvalResult(saved._replace(step=progress.step), split, clips, losses, _spoken(running))


def check_data(trained: RunInfo, *, dataset: Dataset, run: Path, ignored: frozenset[str] = frozenset()) -> None:
    """Raise UserError unless the model of the run can read the dataset's mels and tokens.

    Args:
        ignored: fields of the contract that may differ.
    """
    data = dataset.layout.root
    differences = contract_differences(trained.contract, dataset.info.contract.acoustic)
    if differences := {key: values for key, values in differences.items() if key not in ignored}:
        fields = "; ".join(f"{key} is {there}, the run has {here}" for key, (here, there) in differences.items())
        raise UserError(
            f"{data}: other mels or tokens than {run} was trained on: {fields}; evaluate on the run's own dataset, or "
            "build this one with the run's values"
        )
    own, its = Vocabulary.load(run / "vocab.json"), Vocabulary.load(dataset.layout.vocabulary)
    if unknown := [piece for nllb_id, piece in zip(its.nllb_ids, its.pieces, strict=True) if int(nllb_id) not in own]:
        shown = " ".join(unknown[:MAX_SHOWN])
        raise UserError(
            f"{data}: {len(unknown):,} of its tokens are unknown to {run}, such as {shown}; expected the run's own "
            "dataset, or one that was built from the same corpora"
        )


def _losses(
    stream: Stream,
    *,
    buckets: tuple[Bucket, ...],
    step: EvalStep,
    running: SynthesisEval,
    losses: LossConfig,
    compilations: CompilationLogger,
) -> dict[str, float]:
    stored = translate_oom_in_input(stream.once(device=Devices(Hosts()).first, log=_log))
    batches = log_compilations(stored, buckets=buckets, compilations=compilations)
    collected = running.collect_clips(batches, stream=stream)
    shown = show_progress(collected, clips=len(stream.sampled_rows), what="clips evaluated")
    try:
        validated = evaluate_batches(shown, step=lambda batch: translate_oom(step, batch), losses=losses)
    except OutOfMemory as event:
        raise UserError(
            f"out of memory in bucket {event.bucket} (clips×frames×tokens); free the device, or use the CPU: "
            "CUDA_VISIBLE_DEVICES=-1"
        ) from event
    if validated is None:
        raise UserError(
            f"the {stream.split} split has no valid clip that is short enough to evaluate, or no clip at all; builds "
            f"with {stream.split}_fraction above 0 have one"
        )
    return validated.losses


def _spoken(running: SynthesisEval) -> dict[str, float]:
    """Synthesis metrics; empty if no clip was synthesized or the device's memory is full."""
    try:
        samples = running.synthesize()
    except tf.errors.OpError as error:
        if not is_out_of_memory(error):
            raise
        _log("out of memory during synthesis: left out; synthesize fewer clips with --clips")
        return {}
    return running.measure(samples) if samples else {}


def _log(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def log_compilations(
    batches: Iterable[Batch], *, buckets: tuple[Bucket, ...], compilations: CompilationLogger
) -> Iterator[Batch]:
    """The batches; a line is logged before the first one of each shape."""
    for batch in batches:
        compilations.log_once("validation", bucket_of(batch), of=buckets)
        yield batch


def show_progress(batches: Iterable[Batch], *, clips: int, what: str) -> Iterator[Batch]:
    """The batches; a progress bar shows how many clips they had so far, of `clips`, and the time left."""
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=clips)
        for batch in batches:
            yield batch
            progress.advance(task, int(tf.math.count_nonzero(batch["frames"])))


def write_eval_result(result: EvalResult, *, run: Path, data: str) -> None:
    """Write `RUN/evaluation.json`; a metric that is not finite is null.

    Raises:
        UserError: the file cannot be written.
    """
    saved, path = result.checkpoint, run / "evaluation.json"
    figures = {group: with_null(values) for group, values in (("losses", result.losses), ("spoken", result.spoken))}
    facts: dict[str, object] = {"checkpoint": saved.path.name, "step": saved.step, "data": data}
    facts |= {"split": result.split, "clips": result.clips}
    with writing(path, advice="the metrics are printed above"):
        write_json(path, {**facts, **figures})


def eval_table(result: EvalResult) -> Table:
    """The metrics for the terminal."""
    table = Table("metric", "value")
    table.columns[1].justify = "right"
    for name, value in {**result.losses, **result.spoken}.items():
        table.add_row(_label(name), f"{value:.4f}" if math.isfinite(value) else "not finite")
    return table


def _label(name: str) -> str:
    """The words for a metric's name."""
    labels = {
        "free_length_error": "synthesis: relative error of the length",
        "free_mel_distance_db": "synthesis: mel distance, dB",
        "free_mel_cepstral_distance_db": "synthesis: mel cepstral distance, dB",
        "free_moves": "synthesis: share of steps that move on",
        "free_ended": "synthesis: share of clips that ended",
    }
    return labels.get(name, name.replace("_", " "))
