"""The training loop: batches, steps, validation, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.checkpoints import Progress, load_checkpoint, named_state, saved_checkpoints
from trainer.config import TrainConfig
from trainer.input.guards import open_dataset
from trainer.input.plan import plan_dataset
from trainer.input.stream import Position, Stream
from trainer.input.tables import mix_lines
from trainer.model.xtts import XTTS
from trainer.monitor import Monitor
from trainer.optimization.adamw import AdamW
from trainer.run import enter_run, make_model, training_in
from trainer.saving import Saver
from trainer.session import Session
from trainer.step import EvaluationStep, TrainStep
from trainer.summary import Programs, Summary, write_summary
from trainer.validation import validate


class Trained(NamedTuple):
    """How a run ended."""

    steps: int
    loss: float
    summary: Summary | None  # None where there was no step left to do


def train(config: TrainConfig, *, data: Path, run: Path, allocator: str, break_lock: bool = False) -> Trained:
    """Train from the run's last checkpoint, or from fresh weights, to `config.steps`.

    `allocator` says how memory is allocated; it goes into the log. `break_lock` where a process that trained in the
    run is known to be gone.

    Raises:
        UserError: data or run are not usable, another process trains in the run, or the loss is no number.
    """
    dataset = open_dataset(data)
    with training_in(run, break_lock=break_lock):
        info = enter_run(run, config=config, dataset=dataset)
        trainer = Trainer(config, dataset=dataset, run=run, planned_steps=info.planned_steps)
        return trainer.train(allocator=allocator)


class Trainer:
    """Everything that a run holds while it goes on."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, planned_steps: int):
        keras.utils.set_random_seed(config.seed)
        self._config, self._run, self._contract = config, run, dataset.info.contract.fingerprint
        self._device = "/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"
        self._plan = plan_dataset(
            dataset, config=config.input, frames_per_step=config.model.frames_per_step, steps=planned_steps
        )
        self._train, self._validation = (
            Stream(dataset, split=split, plan=self._plan, config=config.input, seed=config.seed)
            for split in ("train", "validation")
        )
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        self._model = make_model(config, contract=dataset.info.contract, vocabulary=vocabulary)
        mel = dataset.info.mel
        self._model.decoder.set_statistics(mean=list(mel.mean), std=list(mel.std))
        self._optimizer = AdamW(config.optimizer, steps=config.steps, variables=self._model.trainable_variables)
        self._step = TrainStep(self._model, self._optimizer, losses=config.loss, seed=config.seed)
        self._evaluation = EvaluationStep(self._model, losses=config.loss)
        self._progress = Progress(0, Position(), self._train.fingerprint)

    def train(self, *, allocator: str) -> Trained:
        """Run to the last step."""
        notice = self._resume()
        with (
            Monitor(self._run, step=self._progress.step, steps=self._config.steps) as monitor,
            Session(on_gpu=self._device.startswith("/GPU")) as session,
            Saver(self._run, contract=self._contract, kept=self._config.kept_checkpoints) as saver,
        ):
            monitor.say(f"{self._device}, {_count(self._model):,} parameters")
            monitor.say("\n".join([*self._plan.lines(config=self._config.input), *mix_lines(self._plan.mix)]))
            for line in filter(None, (allocator, session.take_notice(), notice)):
                monitor.say(line)
            if self._progress.step >= self._config.steps:
                return Trained(self._progress.step, float("nan"), None)
            loss = self._go_on(monitor, session=session, saver=saver)
            with session.watch.aside():
                saver.settle()
            summary = session.summarise(
                last_step=self._progress.step,
                device=self._device,
                allocator=allocator,
                programs=Programs(
                    train=self._step.programs, validation=self._evaluation.programs, shapes=len(self._plan.buckets)
                ),
                config=self._config.input,
            )
            write_summary(summary, run=self._run)
            for line in summary.lines():
                monitor.say(line)
        return Trained(self._progress.step, loss, summary)

    def _resume(self) -> str:
        """Load the last checkpoint, if there is one; what was done, in words."""
        saved = saved_checkpoints(self._run)
        if not saved:
            return "starting from fresh weights"
        progress = load_checkpoint(
            saved[-1].path, model=self._model, optimizer=self._optimizer, contract=self._contract
        )
        self._progress = progress
        if progress.order == self._train.fingerprint:
            return f"going on after step {progress.step}, {_words(progress.position)}"
        self._progress = progress._replace(
            position=Position(progress.position.epoch + 1), order=self._train.fingerprint
        )
        return f"going on after step {progress.step} with a new epoch: data or input settings changed"

    def _go_on(self, monitor: Monitor, *, session: Session, saver: Saver) -> float:
        watch, loss = session.watch, float("nan")
        batches = self._train.endless(self._progress.position, device=self._device, tell=monitor.say)
        for step, batch in zip(
            range(self._progress.step + 1, self._config.steps + 1), watch.batches(batches), strict=False
        ):
            saver.check()
            position = batch.pop("next")
            programs = self._step.programs
            values = self._step(batch)
            watch.hand_over(values.pop("counts"), compiled=self._step.programs > programs)
            self._progress = self._progress._replace(step=step, position=position)
            monitor.advance(step)
            if self._is_due(step, self._config.log_every):
                loss = self._log(monitor, values=values, session=session)
            is_best, is_due = False, self._is_due(step, self._config.checkpoint_every)
            if self._is_due(step, self._config.validate_every):
                with watch.aside():
                    is_best = self._validate(monitor)
            if is_best or is_due:
                with watch.aside():
                    self._refuse_non_finite(values)
                    self._save(saver, is_best=is_best)
        return loss

    def _is_due(self, step: int, interval: int) -> bool:
        return step % interval == 0 or step == self._config.steps

    def _log(self, monitor: Monitor, *, values: dict[str, tf.Tensor], session: Session) -> float:
        self._refuse_non_finite(values)
        figures = {name: float(value) for name, value in values.items()}
        monitor.log("train", step=self._progress.step, values=figures | session.figures())
        if notice := session.take_notice():
            monitor.say(notice)
        return figures["loss"]

    def _refuse_non_finite(self, values: dict[str, tf.Tensor]) -> None:
        for name in ("loss", "gradient_norm"):
            if not np.isfinite(value := float(values[name])):
                raise UserError(
                    f"{name} is {value} at step {self._progress.step}; the last checkpoint is from before it; "
                    "lower optimizer.learning_rate and run again"
                )

    def _validate(self, monitor: Monitor) -> bool:
        """Whether the loss is lower than ever before."""
        batches = self._validation.once(device=self._device, tell=monitor.say)
        validated = validate(batches, step=self._evaluation)
        if validated is None:
            return False
        monitor.log("validation", step=self._progress.step, values=validated.losses)
        for name, image in validated.pictures.items():
            monitor.picture(name, step=self._progress.step, image=image)
        loss, best_loss = validated.losses["loss"], self._progress.best_loss
        if not np.isfinite(loss) or (best_loss is not None and loss >= best_loss):
            return False
        self._progress = self._progress._replace(best_loss=loss)
        return True

    def _save(self, saver: Saver, *, is_best: bool) -> None:
        position = Position(*(int(number) for number in self._progress.position))
        self._progress = self._progress._replace(position=position)
        saver.save(named_state(self._model, self._optimizer), progress=self._progress, is_best=is_best)


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, chunk {position.chunk}, batch {position.batch}"


def _count(model: XTTS) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
