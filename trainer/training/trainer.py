"""The training loop: batches, steps, validation, checkpoints, and what is done when one of them fails."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.checkpoint.run_state import RunState
from trainer.config.train_config import TrainConfig
from trainer.data.buckets import Bucket
from trainer.data.distributed_input import parts_of
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, bucket_of, translate_oom_in_input
from trainer.distributed.devices import Batch
from trainer.model.xtts import XTTS
from trainer.monitoring.html_report import write_html_report
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.session import Session
from trainer.monitoring.summary import CompiledPrograms, Summary, write_summary
from trainer.optim.plateau import WAY_ON
from trainer.platform.gpu_precision import slow_precision_warning
from trainer.platform.tf_errors import is_compiler_error
from trainer.training.incidents import IncidentLog
from trainer.training.leader import Leader
from trainer.training.learner import Learner
from trainer.training.recovery import Recovery, TooManySkippedSteps
from trainer.training.run_spec import RunSpec, broadcast_run_spec
from trainer.training.signals import Interrupted, SignalHandler
from trainer.training.validation import Validation


class FitResult(NamedTuple):
    """How a run ended."""

    steps: int
    is_over: bool  # a plateau ended it
    loss: float | None  # that was last shown, if any was
    summary: Summary | None  # None where nothing was left to do

    @property
    def outcome(self) -> str:
        """In words."""
        if self.summary is None:
            way_on = f"a plateau ended the run; {WAY_ON}" if self.is_over else "raise steps to train on"
            return f"nothing left to do: {way_on}"
        if self.summary.last_step < self.summary.first_step:
            return "the validation that was owed is held"
        told = [] if self.loss is None else [f"loss {self.loss:.4f}"]
        return ", ".join([*told, "a plateau ended the run"] if self.is_over else told)


class Trainer:
    """Everything that a run holds while it goes on."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo, hosts: Hosts):
        self._config, self._run, self._hosts = config, run, hosts
        self._data = str(dataset.layout.root.absolute())
        broadcast_run_spec(hosts, RunSpec.of(info, dataset=dataset))
        self._learner = Learner(config, dataset=dataset, run=run, info=info, hosts=hosts)
        self._devices, self._feed = self._learner.devices, self._learner.feed
        self._model, self._optimizer = self._learner.model, self._learner.optimizer
        self._incidents = IncidentLog(run)
        self._validation = Validation(
            self._model,
            self._optimizer,
            config=config,
            dataset=dataset,
            lengths=info.lengths,
            run=run,
            incidents=self._incidents,
        )
        self._state = RunState(
            run,
            model=self._model,
            optimizer=self._optimizer,
            contract=dataset.info.contract.fingerprint,
            max_to_keep=config.kept_checkpoints,
            order=self._feed.train.fingerprint,
            steps=config.steps,
            validation_fingerprint=self._validation.validation_fingerprint(self._feed.validation),
            preset=config.preset,
            plateau=config.plateau,
        )
        self._leader = Leader(hosts, learner=self._learner, state=self._state)
        self._loss: float | None = None  # that was last shown

    @property
    def devices(self) -> int:
        """How many share each batch."""
        return self._devices.count

    def resume(self) -> str:
        """Go on from the run's last checkpoint; what that means, in words."""
        return self._state.resume()

    def train(self, *, allocator: str, notice: str) -> FitResult:
        """Run to the last step; `notice` is told."""
        state = self._state
        with (
            RunLogger(
                self._run,
                step=state.progress.step,
                steps=self._config.steps,
                validate_every=self._config.validate_every,
                owes_validation=state.progress.validation_pending,
                xla=self._config.xla,
            ) as monitor,
            SignalHandler(monitor.log, stop_point=self._hosts.stop_point) as signals,
            Session(gpus=self._devices.gpus, first_step=state.progress.step + 1) as session,
            state,
        ):
            recovery = Recovery(
                self._config.recovery,
                feed=self._feed,
                state=state,
                incidents=self._incidents,
                monitor=monitor,
                hosts=self._hosts,
            )
            on = _Ongoing(monitor, signals, session, recovery)
            slow = slow_precision_warning(self._config.model.precision)
            monitor.log(f"{self._devices}, {_count(self._model):,} parameters")
            for line in self._feed.summary_lines():
                monitor.log(line)
            for line in filter(None, (allocator, session.pop_notice(), slow, notice)):
                monitor.log(line)
            if self._is_done and not state.progress.validation_pending:
                self._leader.share_state()
                return FitResult(state.progress.step, state.is_over, None, None)
            monitor.log(state.check_disk_space())
            with session.timer.exclude():
                self._leader.share_state()
                if not self._is_done:
                    self._probe(on)
                if state.progress.step == 0:
                    state.save()  # what a run that diverges at once goes back to
            session.reset_peak_memory()
            try:
                self._go_on_to_the_end(on)
            except (Interrupted, UserError, tf.errors.OpError):
                self._conclude_early(on, allocator=allocator)
                raise
            with session.timer.exclude():
                self._leader.wait()
            summary = self._conclude(session, allocator=allocator)
            for line in summary.lines():
                monitor.log(line)
        return FitResult(state.progress.step, state.is_over, self._loss, summary)

    @property
    def _is_done(self) -> bool:
        """Whether no step is left to do."""
        return self._state.progress.step >= self._config.steps or self._state.is_over

    def _conclude(self, session: Session, *, allocator: str) -> Summary:
        """Sum the session up, in a document and on a page."""
        shapes = len(self._feed.plan.buckets)
        summary = session.summarize(
            data=self._data,
            last_step=self._state.progress.step,
            device=str(self._devices),
            allocator=allocator,
            programs=CompiledPrograms(
                train=self._learner.programs,
                validation=self._validation.evaluation.programs,
                speech=self._validation.free_running.programs,
                shapes=shapes,
            ),
            config=self._config.input,
            stores_mels=self._feed.stores_mels,
        )
        write_summary(summary, run=self._run)
        write_html_report(self._run)
        return summary

    def _conclude_early(self, on: _Ongoing, *, allocator: str) -> None:
        """The same before the last step; the reason for the end is what is told in any case."""
        try:
            self._conclude(on.session, allocator=allocator)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is said, and the other reason is to be seen)
            on.monitor.log(f"{self._run}: not summed up: {error or type(error).__name__}")

    def _lower(self, bucket: Bucket, *, on: _Ongoing) -> None:
        """Fewer clips in a bucket that does not fit.

        Raises:
            UserError: a device gets one clip of it, several hosts train, or devices no longer add up.
        """
        on.recovery.reduce_bucket(bucket)
        self._devices.check_all_reduce()
        self._leader.give_up(bucket)

    def _go_on_to_the_end(self, on: _Ongoing) -> None:
        """Again after each event that a run survives."""
        while True:
            try:
                self._go_on(on)
                break
            except OutOfMemory as event:
                with on.session.timer.exclude():
                    self._lower(self._feed.planned_bucket(event.bucket), on=on)
                    self._state.save()
            except tf.errors.OpError as error:
                if self._signal_behind(error, on=on) is None:
                    raise
                self._leave_amid_step(on)
            except TooManySkippedSteps:
                with on.session.timer.exclude():
                    on.recovery.roll_back()
                    self._leader.share_state()

    def _signal_behind(self, error: tf.errors.OpError, *, on: _Ongoing) -> signal.Signals | None:
        """The signal that went to all of a terminal's processes and ended the compiler as well, if one did."""
        return on.signals.received if is_compiler_error(error) and self._hosts.count == 1 else None

    def _leave_amid_step(self, on: _Ongoing) -> None:
        """Raises Interrupted; the step that was reached is saved, or the last checkpoint stands.

        The update is compiled once for all shapes, so that none is amid it where one came before.
        """
        with contextlib.suppress(TooManySkippedSteps):  # the next session finds so
            on.recovery.check_skipped_steps()
        if self._learner.is_partly_done and not self._learner.has_updated:
            on.recovery.restore(reason="a signal")
        else:
            self._state.save()
        self._leave_if(on.signals.received)

    def _probe(self, on: _Ongoing) -> None:
        """Try the largest batch, where that is wanted."""
        try:
            self._learner.probe_memory(lower=lambda one: self._lower(one, on=on), announce=on.monitor.log_compilation)
        except tf.errors.OpError as error:
            asked = self._signal_behind(error, on=on)
            if asked is None:
                raise
            step = self._state.progress.step
            where = f"after step {step}, as it was found" if step else "before the first step"
            left = f"{self._run}: {asked.name}: left {where}; the same command begins there again"
            raise Interrupted(left, signal_number=asked) from error

    def _go_on(self, on: _Ongoing) -> None:
        """Step after step from where the run stands."""
        timer, state = on.session.timer, self._state
        if state.progress.validation_pending:
            with timer.exclude():
                self._validate(on)
                asked = self._sync_stop(on, validated=True, is_to_save=True)
                state.save()
            self._leave_if(asked)
        if self._is_done:
            return
        batches = self._devices.batches(self._feed.train, state.progress.position, tell=on.recovery.log_corrupt_record)
        for step, batch in zip(
            range(state.progress.step + 1, self._config.steps + 1),
            timer.batches(translate_oom_in_input(batches)),
            strict=False,
        ):
            state.raise_write_error()
            position = batch.pop("next")
            on.monitor.log_compilation("training", bucket_of(batch), of=self._feed.plan.buckets)
            programs = self._learner.programs
            values = self._train_on(batch, on=on)
            timer.record_step(values.pop("counts"), compiled=self._learner.programs > programs)
            on.recovery.record(step, values, rows=parts_of(batch["rows"]))
            state.advance(step, position=position)
            on.monitor.advance(step)
            if (
                self._config.is_due(step, *self._config.intervals)
                or on.recovery.is_due
                or self._leader.may_leave(on.signals)
            ):
                self._pause(on, values=values)
            if state.is_over:
                break

    def _train_on(self, batch: Batch, *, on: _Ongoing) -> dict[str, tf.Tensor]:
        """The figures of a step.

        Raises:
            OutOfMemory: it did not fit; weights are alike on all devices.
        """
        try:
            return self._learner.train_on(batch)
        except OutOfMemory:
            if self._learner.is_partly_done and self._hosts.count == 1:  # several hosts begin again
                on.recovery.restore(reason="out of memory")
            raise

    def _pause(self, on: _Ongoing, *, values: dict[str, tf.Tensor]) -> None:
        """What is due after a step."""
        step, config = self._state.progress.step, self._config
        on.recovery.check_skipped_steps()
        if config.is_due(step, config.log_every):
            self._log(on, values=values)
        with on.session.timer.exclude():
            validated = config.is_due(step, config.validate_every)
            is_due = config.is_due(step, config.checkpoint_every)
            is_saved = validated and is_due  # what ends a process amid a long validation costs no steps before it
            if is_saved:
                self._state.mark_validation_pending()
                self._state.save()
            is_best = validated and self._validate(on)
            is_to_save = is_best or self._state.is_over or is_due
            asked = self._sync_stop(on, validated=validated, is_to_save=is_to_save)
            if (asked or is_to_save) and not (is_saved and self._state.progress.validation_pending):
                self._state.save()
        self._leave_if(asked)

    def _sync_stop(self, on: _Ongoing, *, validated: bool, is_to_save: bool) -> signal.Signals | None:
        """The signal that asked for an end; what is to be saved is so also where another host is gone meanwhile."""
        try:
            return self._leader.sync_stop(on.signals, validated=validated)
        except UserError:
            if is_to_save:
                self._state.save()
            raise

    def _leave_if(self, asked: signal.Signals | None) -> None:
        """Raises Interrupted where a signal asked for it; what is to be saved is on its way to the disk."""
        if asked is not None:
            self._leader.wait()
            where = f"{self._run}: {asked.name}: left after step {self._state.progress.step}, which is saved"
            raise Interrupted(f"{where}; the same command goes on from there", signal_number=asked)

    def _log(self, on: _Ongoing, *, values: dict[str, tf.Tensor]) -> None:
        figures = {name: float(value) for name, value in values.items()}
        on.monitor.log_metrics("train", step=self._state.progress.step, values=figures | on.session.metrics())
        if notice := on.session.pop_notice():
            on.monitor.log(notice)
        self._loss = figures["loss"]

    def _validate(self, on: _Ongoing) -> bool:
        """Whether the loss is lower than ever before; owed until it is known, which a signal may cut short."""
        state, step = self._state, self._state.progress.step
        state.mark_validation_pending()
        loss = self._validation.run(
            self._feed.validation,
            buckets=self._feed.validation_plan.buckets,
            device=self._devices.first,
            step=step,
            monitor=on.monitor,
            tell=on.recovery.log_corrupt_record,
            is_cut_short=lambda: on.signals.received is not None,
        )
        if loss is None and on.signals.received:
            return False
        if loss is not None and (remedy := state.update_plateau(loss)):
            self._incidents.add("plateau", step=step, action=remedy.kind, reason=remedy.reason)
            on.monitor.log(f"step {step}: {remedy.reason}")
        return state.record_validation(loss)


class _Ongoing(NamedTuple):
    """What a run is told by and tells, while it goes on."""

    monitor: RunLogger
    signals: SignalHandler
    session: Session
    recovery: Recovery


def _count(model: XTTS) -> int:
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
