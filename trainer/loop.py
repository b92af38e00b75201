"""The training loop: batches, steps, validation, checkpoints, and what is done when one of them fails."""

from __future__ import annotations

import itertools
import signal
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.lock import reading
from shared.vocabulary import Vocabulary
from trainer.checkpoints import copy_arrays, named_state
from trainer.config import TrainConfig
from trainer.feed import Feed
from trainer.free_running import FreeRunning, judge
from trainer.incidents import Incidents, SkippedSteps
from trainer.input.guards import open_dataset
from trainer.input.staircase import Bucket
from trainer.input.tables import mix_lines
from trainer.memory import OutOfMemory, bucket_of, by_memory, fed_within_memory, fits, full_batch, within_memory
from trainer.model.xtts import XTTS
from trainer.monitor import Monitor
from trainer.optimization.adamw import AdamW
from trainer.optimization.plateau import WAY_ON
from trainer.page.page import write_page
from trainer.precision import slow_precision
from trainer.run import RunInfo, enter_run, make_model, training_in, write_run
from trainer.samples import Samples, write_samples
from trainer.session import Session
from trainer.signals import Interrupted, Signals
from trainer.state import RunState
from trainer.step import Batch, Evaluated, EvaluationStep, TrainStep
from trainer.summary import Programs, Summary, write_summary
from trainer.validation import validate


class Trained(NamedTuple):
    """How a run ended."""

    steps: int
    is_over: bool  # a plateau ended it
    loss: float | None  # None where no step was left to do
    summary: Summary | None  # None where nothing was

    @property
    def outcome(self) -> str:
        """In words."""
        if self.summary is None:
            way_on = f"a plateau ended the run; {WAY_ON}" if self.is_over else "raise steps to train on"
            return f"nothing left to do: {way_on}"
        return "the validation that was owed is held" if self.loss is None else f"loss {self.loss:.4f}"


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
            trainer = Trainer(config, dataset=dataset, run=run, info=info)
            notice = trainer.resume()
            write_run(run, info, dataset=dataset)
            return trainer.train(allocator=allocator, notice=notice)


class Trainer:
    """Everything that a run holds while it goes on."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo):
        keras.utils.set_random_seed(config.seed)
        self._config, self._run = config, run
        self._device = "/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"
        self._feed = Feed(config, dataset=dataset, run=run, info=info)
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        self._model = make_model(config, contract=dataset.info.contract, vocabulary=vocabulary)
        mel = dataset.info.mel
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
            xla=config.xla,
        )
        self._evaluation = EvaluationStep(self._model, losses=config.loss, seed=config.seed)
        self._free_running = FreeRunning(self._model, config=config.free_running, dataset=dataset, seed=config.seed)
        self._rate_hz = dataset.info.contract.features.sample_rate_hz
        self._incidents = Incidents(run)
        self._intervals = (config.log_every, config.validate_every, config.checkpoint_every)
        self._state = RunState(
            run,
            model=self._model,
            optimizer=self._optimizer,
            contract=dataset.info.contract.fingerprint,
            kept=config.kept_checkpoints,
            order=self._feed.train.fingerprint,
            level=config.level,
            plateau=config.plateau,
        )
        self._loss: float | None = None  # that was last shown

    def resume(self) -> str:
        """Go on from the run's last checkpoint; what that means, in words."""
        return self._state.resume()

    def train(self, *, allocator: str, notice: str) -> Trained:
        """Run to the last step; `notice` is told."""
        state = self._state
        with (
            Monitor(
                self._run,
                step=state.progress.step,
                steps=self._config.steps,
                validate_every=self._config.validate_every,
            ) as monitor,
            Signals(monitor.say) as signals,
            Session(on_gpu=self._is_on_gpu) as session,
            state,
        ):
            on = _Ongoing(monitor, signals, session, SkippedSteps(state.skipped_in_row))
            slow = slow_precision(self._config.model.precision)
            monitor.say(f"{self._device}, {_count(self._model):,} parameters")
            for line in (*self._feed.plan.lines(config=self._config.input), *mix_lines(self._feed.plan.mix)):
                monitor.say(line)
            for line in filter(None, (allocator, session.take_notice(), slow, notice)):
                monitor.say(line)
            if self._is_done and not state.progress.owes_validation:
                return Trained(state.progress.step, state.is_over, None, None)
            monitor.say(state.claim_room())
            with session.watch.aside():
                self._probe_memory(on)
                if state.progress.step == 0:
                    state.save()  # what a run that diverges at once goes back to
            session.forget_memory()
            try:
                self._go_on_to_the_end(on)
            except (Interrupted, UserError):
                self._conclude_early(on, allocator=allocator)
                raise
            with session.watch.aside():
                state.settle()
            summary = self._conclude(session, allocator=allocator)
            for line in summary.lines():
                monitor.say(line)
        return Trained(state.progress.step, state.is_over, self._loss, summary)

    @property
    def _is_done(self) -> bool:
        """Whether no step is left to do."""
        return self._state.progress.step >= self._config.steps or self._state.is_over

    @property
    def _is_on_gpu(self) -> bool:
        return self._device.startswith("/GPU")

    def _conclude(self, session: Session, *, allocator: str) -> Summary:
        """Sum the session up, in a document and on a page."""
        shapes = len(self._feed.plan.buckets)
        summary = session.summarise(
            last_step=self._state.progress.step,
            device=self._device,
            allocator=allocator,
            programs=Programs(
                train=self._step.programs,
                validation=self._evaluation.programs,
                speech=self._free_running.programs,
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
        """Try the largest batch, and smaller ones until one fits as it was planned; weights are put back."""
        wanted = self._config.recovery.probe_memory
        if self._is_done or not (self._is_on_gpu if wanted is None else wanted):
            return
        variables, like = named_state(self._model, self._optimizer), self._feed.train.element_spec
        before = copy_arrays(variables)
        for number in by_memory(self._feed.plan.buckets, frames_per_step=self._config.model.frames_per_step):
            planned = self._feed.plan.buckets[number]
            while not self._fits(bucket := self._feed.plan.buckets[number], like=like, on=on):
                self._lower(bucket, on=on)
            if bucket == planned:
                break
        for name, variable in variables.items():
            variable.assign(before[name])

    def _fits(self, bucket: Bucket, *, like: dict[str, tf.TensorSpec], on: _Ongoing) -> bool:
        on.monitor.announce("training", bucket, of=self._feed.plan.buckets)
        with tf.device(self._device):
            return fits(self._step, full_batch(bucket, like=like))

    def _lower(self, bucket: Bucket, *, on: _Ongoing) -> None:
        """Fewer clips in a bucket that does not fit."""
        clips, step = self._feed.lower(bucket), self._state.progress.step
        self._state.enter_order(self._feed.train.fingerprint)
        self._incidents.add("out of memory", step=step, bucket=list(bucket), clips=clips)
        name = f"{bucket.clips}×{bucket.frames}×{bucket.tokens}"
        on.monitor.say(f"out of memory in bucket {name} (clips×frames×tokens): {clips} clips there from now on")

    def _go_on_to_the_end(self, on: _Ongoing) -> None:
        """Again after each event that a run survives."""
        while True:
            try:
                self._go_on(on)
                break
            except OutOfMemory as event:
                with on.session.watch.aside():
                    self._lower(event.bucket, on=on)
                    self._state.save()
            except _SkippedInRow:
                with on.session.watch.aside():
                    self._go_back(on)

    def _go_back(self, on: _Ongoing) -> None:
        step, skipped, factor = self._state.progress.step, on.skipped.in_row, self._config.recovery.rate_factor
        self._state.go_back(skipped=skipped, rate_factor=factor)
        back = self._state.progress.step
        on.skipped.in_row = self._state.skipped_in_row
        self._incidents.add("went back", step=step, to_step=back, skipped_in_row=skipped, rate_factor=factor)
        on.monitor.go_back(back)
        on.monitor.say(f"{skipped} steps in a row were no numbers: back to step {back}, at {factor} of the rate")

    def _go_on(self, on: _Ongoing) -> None:
        """Step after step from where the run stands."""
        watch, state = on.session.watch, self._state
        if state.progress.owes_validation:
            with watch.aside():
                self._validate(on)
                state.save()
            self._leave_if(on.signals.asked)
        if self._is_done:
            return
        batches = self._feed.train.endless(state.progress.position, device=self._device, tell=on.monitor.say)
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
            on.skipped.note(step, values, rows=batch["rows"])
            state.advance(step, position=position)
            on.monitor.advance(step)
            if self._is_due(step, *self._intervals) or on.skipped.is_full or on.signals.asked:
                self._pause(on, values=values)
            if state.is_over:
                break

    def _pause(self, on: _Ongoing, *, values: dict[str, tf.Tensor]) -> None:
        """What is due after a step."""
        step, config = self._state.progress.step, self._config
        self._look_for_skipped(on)
        if self._is_due(step, config.log_every):
            self._log(on, values=values)
        with on.session.watch.aside():
            is_best = self._is_due(step, config.validate_every) and self._validate(on)
            asked = on.signals.asked
            if is_best or asked or self._state.is_over or self._is_due(step, config.checkpoint_every):
                self._state.save()
        self._leave_if(asked)

    def _leave_if(self, asked: signal.Signals | None) -> None:
        """Raises Interrupted where a signal asked for it; what is to be saved is on its way to the disk."""
        if asked is not None:
            self._state.settle()
            where = f"{self._run}: {asked.name}: left after step {self._state.progress.step}, which is saved"
            raise Interrupted(f"{where}; the same command goes on from there", signal_number=asked)

    def _is_due(self, step: int, *intervals: int) -> bool:
        return step == self._config.steps or any(step % interval == 0 for interval in intervals)

    def _look_for_skipped(self, on: _Ongoing) -> None:
        found = on.skipped.look()
        for one in found:
            names = self._feed.train.utterance_ids(one.rows)
            figures = {"loss": str(one.loss), "gradient_norm": str(one.gradient_norm)}
            self._incidents.add("skipped", step=one.step, **figures, utterances=names)
        if found:
            steps = ", ".join(str(one.step) for one in found[:5]) + (", …" if found[5:] else "")
            on.monitor.say(f"loss or gradient was no number, no weight was changed: step {steps}; see incidents.jsonl")
        if on.skipped.in_row >= self._config.recovery.skipped_in_row:
            raise _SkippedInRow

    def _log(self, on: _Ongoing, *, values: dict[str, tf.Tensor]) -> None:
        figures = {name: float(value) for name, value in values.items()}
        on.monitor.log("train", step=self._state.progress.step, values=figures | on.session.figures())
        if notice := on.session.take_notice():
            on.monitor.say(notice)
        self._loss = figures["loss"]

    def _validate(self, on: _Ongoing) -> bool:
        """Whether the loss is lower than ever before; owed until it is known, which a signal may cut short."""
        self._state.owe_validation()
        stream, began_s, programs = self._feed.validation, time.monotonic(), self._validation_programs
        batches = fed_within_memory(stream.once(device=self._device, tell=on.monitor.say))
        overheard = self._free_running.overhear(batches, names=stream.utterance_ids)
        heard = itertools.takewhile(lambda _: on.signals.asked is None, overheard)
        with self._optimizer.averaged():
            validated = validate(heard, step=partial(self._evaluate, on=on), losses=self._config.loss)
        if on.signals.asked:
            return False
        if validated is None:
            return self._state.note_validation(None)
        step = self._state.progress.step
        values = validated.losses | self._speak(on)
        if self._validation_programs == programs:
            values["validation_s"] = time.monotonic() - began_s
        on.monitor.log("validation", step=step, values=values)
        for name, image in validated.pictures.items():
            on.monitor.picture(name, step=step, image=image)
        if remedy := self._state.watch_plateau(validated.losses["loss"]):
            on.monitor.say(f"step {step}: {remedy.reason}")
        return self._state.note_validation(validated.losses["loss"])

    def _evaluate(self, batch: Batch, *, on: _Ongoing) -> Evaluated:
        on.monitor.announce("validation", bucket_of(batch), of=self._feed.plan.buckets)
        return within_memory(self._evaluation, batch)

    @property
    def _validation_programs(self) -> int:
        return self._evaluation.programs + self._free_running.programs

    def _speak(self, on: _Ongoing) -> dict[str, float]:
        """Speak the clips that always are spoken, where it is time; how well that was done."""
        step, config = self._state.progress.step, self._config
        if not self._is_due(step, config.validate_every * config.free_running.every):
            return {}
        if config.free_running.clips and not self._free_running.programs:
            on.monitor.say(f"compiling speech: {config.free_running.clips} clips")
        with self._optimizer.averaged():  # if there is no memory for that, weights are not to be trusted
            try:
                spoken = self._free_running.speak()
            except tf.errors.ResourceExhaustedError:
                self._incidents.add("out of memory", step=step, clips_spoken=config.free_running.clips)
                on.monitor.say("out of memory while clips were spoken: left out this time; lower free_running.clips")
                return {}
        if not spoken:
            return {}
        samples = Samples(step, self._rate_hz, spoken)
        on.monitor.samples(samples)
        write_samples(samples, run=self._run)
        return judge(spoken)


class _Ongoing(NamedTuple):
    """What a run is told by and tells, while it goes on."""

    monitor: Monitor
    signals: Signals
    session: Session
    skipped: SkippedSteps


class _SkippedInRow(Exception):
    """Too many steps in a row changed no weight."""


def _count(model: XTTS) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
