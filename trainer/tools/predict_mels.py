"""`myxtts-train vocoder mels`: what a model predicts for each clip of a dataset with teacher forcing.

The model gets the recorded frames before each frame that it predicts. So the predicted mel runs in step with the
recording, and has the faults of the model's mels: a vocoder that is trained on both learns to sound well with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError, writing
from shared.files import file_sha256, new_file, write_json
from shared.layout import TRAINING_SPLITS
from shared.locks import read_lock
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import find_checkpoint
from trainer.checkpoint.checkpoint_files import CheckpointFile
from trainer.checkpoint.run_dir import RunInfo, load_trained_model, read_run_info
from trainer.config.data_config import SamplingConfig
from trainer.data.dataset_checks import open_dataset
from trainer.data.pipeline import Stream
from trainer.data.plan import Plan, plan_dataset
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, translate_oom, translate_oom_in_input
from trainer.distributed.devices import Devices
from trainer.model.xtts import XTTS
from trainer.monitoring.compilation import CompilationLogger
from trainer.tools.evaluate import check_data, log_compilations, show_progress
from trainer.training.train_step import EvalStep
from trainer.vocoder_training.predicted_mels import DTYPE, STATE, PredictedMelsInfo, mel_path, read_mels_info


class Predicted(NamedTuple):
    """The mels that were written."""

    checkpoint: CheckpointFile
    clips: int


def predict_mels(
    run: Path, *, data: Path, out: Path, checkpoint: str | None = None, log: Callable[[str], object]
) -> Predicted:
    """Predict the mels of a dataset's train and validation, into `out`; an interrupted prediction starts again there.

    Args:
        data: a dataset with the run's features and vocabulary; it may store mels or none.
        checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.

    Raises:
        UserError: there is no such checkpoint, the dataset is another one, or the folder holds something else.
    """
    saved = find_checkpoint(run, checkpoint)
    with read_lock(data):
        dataset, trained = open_dataset(data), read_run_info(run)
        check_data(trained, dataset=dataset, run=run, ignored=frozenset({"mel_dtype"}))
        sha256 = file_sha256(saved.path)
        model, progress = load_trained_model(run, saved, info=trained)
        saved = saved._replace(step=progress.step)
        state = PredictedMelsInfo(
            features=dataset.info.contract.features,
            run=str(run),
            checkpoint=f"step {saved.step}",
            checkpoint_sha256=sha256,
            dataset_sha256=file_sha256(dataset.layout.info),
            processing=dataset.info.contract.processing,
        )
        _begin(out, state=state)
        clips = 0
        try:
            vocabulary = Vocabulary.load(run / "vocab.json")
            for name, mel in _predicted(model, trained=trained, dataset=dataset, vocabulary=vocabulary, log=log):
                _write_mel(mel_path(out, utterance_id=name), mel)
                clips += 1
            write_json(out / STATE, state.model_copy(update={"is_finished": True}))
        except OSError as error:
            raise UserError(f"{error.filename or out}: cannot be written ({error.strerror})") from error
        except OutOfMemory as event:
            raise UserError(
                f"out of memory in bucket {event.bucket} (clips×frames×tokens); free the device, or use the CPU: "
                "CUDA_VISIBLE_DEVICES=-1"
            ) from event
    return Predicted(saved, clips)


def _begin(out: Path, *, state: PredictedMelsInfo) -> None:
    """Write `mels.json` of unfinished mels; raises UserError if the folder holds something else, or other mels."""
    if (out / STATE).is_file():
        found = read_mels_info(out)
        if (found.checkpoint_sha256, found.dataset_sha256) != (state.checkpoint_sha256, state.dataset_sha256):
            held = f"the mels that {found.run}, {found.checkpoint} predicted, of this or another dataset"
            raise UserError(f"{out}: holds {held}; choose another folder, or remove this one")
    elif out.is_dir() and any(out.iterdir()):
        raise UserError(f"{out}: not empty, and no predicted mels; choose a new folder")
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / STATE, state)


def _predicted(
    model: XTTS, *, trained: RunInfo, dataset: Dataset, vocabulary: Vocabulary, log: Callable[[str], object]
) -> Iterator[tuple[str, np.ndarray]]:
    """The id and the predicted mel [F, M] of each clip that is no longer than the run's `input.max_frames`."""
    config = trained.config
    every_clip = {"sampling": SamplingConfig(), "validation_clips": None}
    settings = config.input.model_copy(update=every_clip)
    plan = plan_dataset(dataset, config=settings, frames_per_step=config.model.frames_per_step, steps=1)
    plan = plan.with_limits(trained.ceilings, devices=trained.devices).per_device(trained.devices)
    for line in plan.excluded_lines:
        log(line)
    step = EvalStep(model, losses=config.loss, seed=config.seed, xla=config.xla, draws_by_batch=True)
    compilations = CompilationLogger(log, xla=config.xla)
    for split in TRAINING_SPLITS:
        stream = Stream(dataset, split=split, plan=plan, config=settings, seed=config.seed, vocabulary=vocabulary)
        if len(stream.sampled_rows):
            yield from _predicted_of(stream, plan=plan, step=step, compilations=compilations, log=log)


def _predicted_of(
    stream: Stream, *, plan: Plan, step: EvalStep, compilations: CompilationLogger, log: Callable[[str], object]
) -> Iterator[tuple[str, np.ndarray]]:
    batches = translate_oom_in_input(stream.once(device=Devices(Hosts()).first, log=log))
    batches = log_compilations(batches, buckets=plan.buckets, compilations=compilations)
    for batch in show_progress(batches, clips=len(stream.sampled_rows), what="mels predicted"):
        mels = translate_oom(step, batch).decoded.mel.numpy()
        for mel, frames, row in zip(mels, batch["frames"].numpy(), batch["rows"].numpy(), strict=True):
            if row >= 0:
                (name,) = stream.utterance_ids(np.array([row]))
                if not np.isfinite(mel[:frames]).all():
                    raise UserError(f"the model predicts values for {name} that are not finite; use another checkpoint")
                yield name, mel[:frames]


def _write_mel(path: Path, mel: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    with new_file(path, durable=False) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(mel, DTYPE), version=(1, 0))
