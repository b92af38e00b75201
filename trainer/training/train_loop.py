"""The training loop: run steps, log, validate, save checkpoints, and restart after recoverable failures."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from shared.errors import UserError
from trainer.checkpoint.run_state import RunState
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.distributed_input import local_values
from trainer.distributed.device_memory import OutOfMemory, bucket_of, translate_oom_in_input
from trainer.distributed.devices import Batch
from trainer.monitoring.interval_means import IntervalMeans
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.session import Session
from trainer.platform.tf_errors import is_compiler_error
from trainer.training.chief_sync import ChiefSync
from trainer.training.components import TrainComponents
from trainer.training.incidents import IncidentLog
from trainer.training.recovery import Recovery, TooManySkippedSteps
from trainer.training.signals import Interrupted, SignalHandler
from trainer.training.validation import Validation


class ValidationResult(NamedTuple):
    """What follows from a validation."""

    is_best: bool  # its score is the lowest so far
    has_changed_rate: bool  # it found a plateau


NOT_VALIDATED = ValidationResult(is_best=False, has_changed_rate=False)


class TrainLoop:
    """The loop of one session; `worker.Worker` runs the matching loop on the other hosts."""

    def __init__(
        self,
        config: TrainConfig,
        *,
        run: Path,
        components: TrainComponents,
        state: RunState,
        validation: Validation,
        incidents: IncidentLog,
        recovery: Recovery,
        sync: ChiefSync,
        logger: RunLogger,
        signals: SignalHandler,
        session: Session,
    ):
        self._config, self._run, self._components, self._state = config, run, components, state
        self._validation, self._incidents, self._recovery, self._sync = validation, incidents, recovery, sync
        self._logger, self._signals, self._session, self._timer = logger, signals, session, session.timer
        self._means = IntervalMeans()
        self.last_loss: float | None = None  # mean over the steps of the last log line

    @property
    def is_done(self) -> bool:
        """True if no step is left, or a plateau ended the run."""
        return self._state.progress.step >= self._config.steps or self._state.is_over

    def probe_memory(self) -> None:
        """Try the largest batches before the first step, if the config asks for it.

        Raises:
            UserError: a single clip does not fit into memory.
            Interrupted: a signal arrived and ended the compiler, too.
        """
        try:
            self._components.probe_memory(reduce=self._reduce_bucket, announce=self._logger.log_compilation)
        except tf.errors.OpError as error:
            received = self._signal_that_ended_compiler(error)
            if received is None:
                raise
            step = self._state.progress.step
            where = f"after step {step}, with nothing changed" if step else "before the first step"
            message = f"{self._run}: {received.name}: stopped {where}; run the same command again to continue"
            raise Interrupted(message, signal_number=received) from error

    def run(self) -> None:
        """Run to the end, restarting after recoverable failures.

        Raises:
            UserError: a failure from which the run cannot recover.
            Interrupted: a signal arrived; a checkpoint is written.
        """
        while True:
            try:
                self._run_steps()
                break
            except OutOfMemory as event:
                with self._timer.exclude():
                    self._reduce_bucket(self._components.data.planned_bucket(event.bucket))
                    self._state.save()
            except tf.errors.OpError as error:
                if self._signal_that_ended_compiler(error) is None:
                    raise
                self._stop_during_step()
            except TooManySkippedSteps:
                with self._timer.exclude():
                    self._recovery.roll_back()
                    self._sync.broadcast_state()

    def _run_steps(self) -> None:
        """Run steps from the current progress until the run ends or a step fails."""
        state = self._state
        self._means.drop_after(state.progress.step)
        if state.progress.validation_pending:
            self._validate()
            received = self._sync_stop(validated=True, save_due=True)
            self._save()
            self._stop_if(received)
        if self.is_done:
            return
        data = self._components.data
        batches = self._components.devices.batches(data.train, state.progress.position, log=self._recovery.log_reading)
        for step, batch in zip(
            range(state.progress.step + 1, self._config.steps + 1),
            self._timer.batches(translate_oom_in_input(batches)),
            strict=False,
        ):
            state.raise_write_error()
            position = batch.pop("next")
            self._logger.log_compilation("training", bucket_of(batch), of=data.plan.buckets)
            programs = self._components.programs
            values = self._train_on(batch)
            self._timer.record_step(values.pop("counts"), compiled=self._components.programs > programs)
            self._recovery.record(step, values, rows=local_values(batch["rows"]))
            self._means.record(step, values)
            state.advance(step, position=position)
            self._logger.advance(step)
            if (
                self._config.is_due(step, *self._config.intervals)
                or self._recovery.is_check_due
                or self._sync.may_stop(self._signals)
            ):
                self._pause()
            if state.is_over:
                break

    def _train_on(self, batch: Batch) -> dict[str, tf.Tensor]:
        """Run one step and return its metrics.

        Raises:
            OutOfMemory: the batch did not fit; the weights are equal on all devices.
        """
        try:
            return self._components.train_on(batch)
        except OutOfMemory:
            if self._components.is_mid_update and not self._sync.has_workers:  # with workers the run ends
                self._recovery.restore_checkpoint(reason="out of memory")
            raise

    def _pause(self) -> None:
        """Log, validate, save and stop after a step, whichever is due."""
        step, config = self._state.progress.step, self._config
        self._recovery.check_skipped_steps()
        if config.is_due(step, config.log_every):
            self._log_metrics()
        validate = config.is_due(step, config.validate_every)
        checkpoint_due = config.is_due(step, config.checkpoint_every)
        save_first = validate and checkpoint_due  # a kill during a long validation then loses no steps
        if save_first:
            self._state.mark_validation_pending()
            self._save()
        result = self._validate() if validate else NOT_VALIDATED
        save_due = result.is_best or self._state.is_over or checkpoint_due
        received = self._sync_stop(validated=validate, save_due=save_due)
        if not save_first:
            if received or save_due:
                self._save()
        elif not self._state.progress.validation_pending:
            self._save_validated(result, is_last=received is not None or self.is_done)
        self._stop_if(received)

    def _save_validated(self, result: ValidationResult, *, is_last: bool) -> None:
        """Save what a validation found about the checkpoint from before it.

        The same weights are not written twice: a session that continues from this checkpoint validates it again. A
        measure of speech may not be taken again, and is saved with a best checkpoint.
        """
        is_of_speech = self._config.synthesis_eval.best_by != "loss"
        if is_last or result.has_changed_rate or (result.is_best and is_of_speech):
            self._save()
        elif result.is_best:
            self._state.mark_best()

    def _save(self) -> None:
        with self._timer.exclude("checkpoint"):
            self._state.save()

    def _log_metrics(self) -> None:
        metrics = self._means.take()
        self._logger.log_metrics("train", step=self._state.progress.step, values=metrics | self._session.metrics())
        if notice := self._session.pop_gpu_problem():
            self._logger.log(notice)
        self.last_loss = metrics["loss"]

    def _validate(self) -> ValidationResult:
        """Validate; the validation stays pending until its loss is known: a signal may interrupt it."""
        state, step, data = self._state, self._state.progress.step, self._components.data
        state.mark_validation_pending()
        programs = self._validation.programs
        with self._timer.exclude(lambda: "compilation" if self._validation.programs > programs else "validation"):
            loss, score = self._validation.run(
                data.validation,
                buckets=data.validation_plan.buckets,
                device=self._components.devices.first,
                step=step,
                logger=self._logger,
                log_reading=self._recovery.log_reading,
                should_stop=lambda: self._signals.received is not None,
            )
        if loss is None and self._signals.received:
            return NOT_VALIDATED
        action = None if loss is None else state.update_plateau(loss)
        if action is not None:
            self._incidents.add("plateau", step=step, action=action.kind, reason=action.reason)
            self._logger.log(f"step {step}: {action.reason}")
        return ValidationResult(is_best=state.record_validation(score), has_changed_rate=action is not None)

    def _sync_stop(self, *, validated: bool, save_due: bool) -> signal.Signals | None:
        """Return the signal that any host received; a checkpoint that is due is saved even if another host is gone."""
        with self._timer.exclude():
            try:
                return self._sync.sync_stop(self._signals, validated=validated)
            except UserError:
                if save_due:
                    self._state.save()
                raise

    def _stop_if(self, received: signal.Signals | None) -> None:
        """Wait for the checkpoint and raise Interrupted, if a signal was received."""
        if received is not None:
            self._sync.wait()
            where = f"{self._run}: {received.name}: stopped after step {self._state.progress.step}, which is saved"
            raise Interrupted(f"{where}; run the same command again to continue", signal_number=received)

    def _stop_during_step(self) -> None:
        """Save the last complete step, or fall back to the last checkpoint, and raise Interrupted.

        One compiled update serves all batch shapes. So only a session's first update can be interrupted by its
        compilation, and leave some devices updated and others not.
        """
        with contextlib.suppress(TooManySkippedSteps):  # the next session finds them again
            self._recovery.check_skipped_steps()
        if self._components.is_mid_update and not self._components.has_updated:
            self._recovery.restore_checkpoint(reason="a signal")
        else:
            self._state.save()
        self._stop_if(self._signals.received)

    def _signal_that_ended_compiler(self, error: tf.errors.OpError) -> signal.Signals | None:
        """Return the received signal if a compiler process failed: Ctrl-C in a terminal ends that process, too."""
        return self._signals.received if is_compiler_error(error) and not self._sync.has_workers else None

    def _reduce_bucket(self, bucket: Bucket) -> None:
        """Reduce the batch size of a bucket that does not fit into memory.

        Raises:
            UserError: a device already gets a single clip, the run has several hosts, or all-reduce no longer works.
        """
        self._recovery.reduce_bucket(bucket)
        self._components.devices.check_all_reduce()
        self._sync.refuse_out_of_memory(bucket)
