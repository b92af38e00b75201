"""The training loop: batches, steps, validation, checkpoints, and what is done when one of them fails."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.lock import reading
from shared.vocabulary import Vocabulary
from trainer.checkpoints import named_state
from trainer.config import TrainConfig
from trainer.devices import Devices
from trainer.feed import Feed
from trainer.incidents import Incidents
from trainer.input.guards import open_dataset
from trainer.input.replicas import parts_of
from trainer.input.tables import mix_lines
from trainer.memory import OutOfMemory, bucket_of, fed_within_memory, within_memory
from trainer.model.xtts import XTTS
from trainer.monitor import Monitor
from trainer.optimization.adamw import AdamW
from trainer.page.page import write_page
from trainer.precision import slow_precision
from trainer.probe import probe_memory
from trainer.rescue import Rescue, SkippedInRow
from trainer.run import RunInfo, enter_run, make_model, training_in
from trainer.session import Session
from trainer.signals import Interrupted, Signals
from trainer.state import RunState
from trainer.step import TrainStep
from trainer.summary import Programs, Summary, write_summary
from trainer.validation import Validation


class Trained(NamedTuple):
    """How a run ended."""

    steps: int
    loss: float
    summary: Summary | None  # None where there was no step left to do


def train(config: TrainConfig, *, data: Path, run: Path, allocator: str, break_lock: bool = False) -> Trained:
    """Train from the run's last checkpoint, or from fresh weights, to `config.steps`; nobody may write to the data.

    `allocator` says how memory is allocated; it goes into the log. `break_lock` where a process that trained in the
    run is known to be gone.

    Raises:
        UserError: data or run are not usable, another process writes to the data or trains in the run, or losses are
            no numbers.
        Interrupted: a signal asked for it; a checkpoint is written.
    """
    with reading(data):
        dataset = open_dataset(data)
        with training_in(run, break_lock=break_lock):
            info = enter_run(run, config=config, dataset=dataset)
            return Trainer(config, dataset=dataset, run=run, info=info).train(allocator=allocator)


class Trainer:
    """Everything that a run holds while it goes on."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo):
        keras.utils.set_random_seed(config.seed)
        self._config, self._run = config, run
        self._devices = Devices()
        self._feed = Feed(config, dataset=dataset, run=run, info=info)
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        mel = dataset.info.mel
        with self._devices.scope():
            self._model = make_model(config, contract=dataset.info.contract, vocabulary=vocabulary)
            self._model.decoder.set_statistics(mean=list(mel.mean), std=list(mel.std))
            self._optimizer = AdamW(
                config.optimizer,
                steps=config.steps,
                variables=self._model.trainable_variables,
                scales_loss=config.model.precision == "float16",
            )
        self._step = TrainStep(
            self._model,
            self._optimizer,
            losses=config.loss,
            seed=config.seed,
            parts=config.optimizer.accumulation,
            strategy=self._devices.strategy,
            xla=config.xla,
        )
        self._incidents = Incidents(run)
        self._validation = Validation(
            self._model, self._optimizer, config=config, dataset=dataset, run=run, incidents=self._incidents
        )
        self._intervals = (config.log_every, config.validate_every, config.checkpoint_every)
        self._state = RunState(
            run,
            model=self._model,
            optimizer=self._optimizer,
            contract=dataset.info.contract.fingerprint,
            kept=config.kept_checkpoints,
            order=self._feed.train.fingerprint,
        )

    def train(self, *, allocator: str) -> Trained:
        """Run to the last step."""
        state, notice = self._state, self._state.resume()
        with (
            Monitor(
                self._run,
                step=state.progress.step,
                steps=self._config.steps,
                validate_every=self._config.validate_every,
            ) as monitor,
            Signals(monitor.say) as signals,
            Session(on_gpu=self._devices.are_gpus) as session,
            state,
        ):
            rescue = Rescue(
                self._config.recovery, feed=self._feed, state=state, incidents=self._incidents, monitor=monitor
            )
            on = _Ongoing(monitor, signals, session, rescue)
            slow = slow_precision(self._config.model.precision)
            monitor.say(f"{self._devices}, {_count(self._model):,} parameters")
            for line in (*self._feed.plan.lines(config=self._config.input), *mix_lines(self._feed.plan.mix)):
                monitor.say(line)
            for line in filter(None, (allocator, session.take_notice(), slow, notice)):
                monitor.say(line)
            if state.progress.step >= self._config.steps or state.progress.plateau.is_over:
                return Trained(state.progress.step, float("nan"), None)
            with session.watch.aside():
                self._probe_memory(on)
            session.forget_memory()
            try:
                loss = self._go_on_to_the_end(on)
            except (Interrupted, UserError):
                self._conclude_early(on, allocator=allocator)
                raise
            with session.watch.aside():
                state.settle()
            summary = self._conclude(session, allocator=allocator)
            for line in summary.lines():
                monitor.say(line)
        return Trained(state.progress.step, loss, summary)

    def _conclude(self, session: Session, *, allocator: str) -> Summary:
        """Sum the session up, in a document and on a page."""
        shapes = len(self._feed.plan.buckets)
        summary = session.summarise(
            last_step=self._state.progress.step,
            device=str(self._devices),
            allocator=allocator,
            programs=Programs(
                train=self._step.programs,
                validation=self._validation.evaluation.programs,
                speech=self._validation.free_running.programs,
                shapes=shapes,
            ),
            config=self._config.input,
        )
        write_summary(summary, run=self._run)
        write_page(self._run)
        return summary

    def _conclude_early(self, on: _Ongoing, *, allocator: str) -> None:
        """The same before the last step; the reason for the end is what is told in any case."""
        try:
            self._conclude(on.session, allocator=allocator)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is said, and the other reason is to be seen)
            on.monitor.say(f"{self._run}: not summed up: {error or type(error).__name__}")

    def _probe_memory(self, on: _Ongoing) -> None:
        """Where there is a GPU, or where it is asked for."""
        wanted = self._config.recovery.probe_memory
        if self._devices.are_gpus if wanted is None else wanted:
            probe_memory(
                self._step,
                feed=self._feed,
                devices=self._devices,
                state=named_state(self._model, self._optimizer),
                frames_per_step=self._config.model.frames_per_step,
                lower=on.rescue.lower,
                monitor=on.monitor,
            )

    def _go_on_to_the_end(self, on: _Ongoing) -> float:
        """Again after each event that a run survives; the last loss."""
        while True:
            try:
                return self._go_on(on)
            except OutOfMemory as event:
                with on.session.watch.aside():
                    on.rescue.lower(self._feed.planned(event.bucket))
                    self._state.save()
            except SkippedInRow:
                with on.session.watch.aside():
                    on.rescue.go_back()

    def _go_on(self, on: _Ongoing) -> float:
        """Step after step from where the run stands."""
        watch, state, loss = on.session.watch, self._state, float("nan")
        if state.progress.owes_validation:
            with watch.aside():
                state.save(is_best=self._validate(on))
        batches = self._devices.batches(self._feed.train, state.progress.position, tell=on.monitor.say)
        for step, batch in zip(
            range(state.progress.step + 1, self._config.steps + 1),
            watch.batches(fed_within_memory(batches)),
            strict=False,
        ):
            state.check()
            position = batch.pop("next")
            on.monitor.announce("training", bucket_of(batch), of=self._feed.plan.buckets)
            programs = self._step.programs
            values = within_memory(self._step, batch)
            watch.hand_over(values.pop("counts"), compiled=self._step.programs > programs)
            on.rescue.note(step, values, rows=parts_of(batch["rows"]))
            state.advance(step, position=position)
            on.monitor.advance(step)
            if self._config.is_due(step, *self._intervals) or on.rescue.is_due or on.signals.asked:
                loss = self._pause(on, values=values, loss=loss)
            if state.progress.plateau.is_over:
                break
        return loss

    def _pause(self, on: _Ongoing, *, values: dict[str, tf.Tensor], loss: float) -> float:
        """What is due after a step; the loss that was last shown."""
        step, config = self._state.progress.step, self._config
        on.rescue.look()
        if config.is_due(step, config.log_every):
            loss = self._log(on, values=values)
        with on.session.watch.aside():
            is_best = config.is_due(step, config.validate_every) and self._validate(on)
            asked = on.signals.asked
            is_over = self._state.progress.plateau.is_over
            if is_best or asked or is_over or config.is_due(step, config.checkpoint_every):
                self._state.save(is_best=is_best)
        if asked:
            self._state.settle()
            where = f"{self._run}: {asked.name}: left after step {step}, which is saved"
            raise Interrupted(f"{where}; the same command goes on from there", signal_number=asked)
        return loss

    def _log(self, on: _Ongoing, *, values: dict[str, tf.Tensor]) -> float:
        figures = {name: float(value) for name, value in values.items()}
        on.monitor.log("train", step=self._state.progress.step, values=figures | on.session.figures())
        if notice := on.session.take_notice():
            on.monitor.say(notice)
        return figures["loss"]

    def _validate(self, on: _Ongoing) -> bool:
        """Whether the loss is lower than ever before; what a signal cuts short is owed."""
        state, step = self._state, self._state.progress.step
        loss = self._validation.hold(
            self._feed.validation,
            buckets=self._feed.plan.buckets,
            device=self._devices.first,
            step=step,
            monitor=on.monitor,
            is_cut_short=lambda: on.signals.asked is not None,
        )
        if loss is None:
            if on.signals.asked:
                state.owe_validation()
            return False
        if remedy := state.watch_plateau(loss, config=self._config.plateau):
            on.monitor.say(f"step {step}: {remedy.reason}")
        return state.note_validation(loss)


class _Ongoing(NamedTuple):
    """What a run is told by and tells, while it goes on."""

    monitor: Monitor
    signals: Signals
    session: Session
    rescue: Rescue


def _count(model: XTTS) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
