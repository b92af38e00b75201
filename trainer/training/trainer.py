"""Training on the chief host: set up the run, train one session, and write its summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.checkpoint.run_state import RunState
from trainer.config.train_config import TrainConfig
from trainer.distributed.collectives import Hosts
from trainer.monitoring.html_report import write_html_report
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.session import Session
from trainer.monitoring.summary import CompiledPrograms, Summary, write_summary
from trainer.optim.plateau import HOW_TO_CONTINUE
from trainer.platform.gpu_precision import slow_precision_warning
from trainer.training.chief_sync import ChiefSync
from trainer.training.components import TrainComponents
from trainer.training.incidents import IncidentLog
from trainer.training.recovery import Recovery
from trainer.training.run_spec import RunSpec, agree_on_run
from trainer.training.signals import Interrupted, SignalHandler
from trainer.training.train_loop import TrainLoop
from trainer.training.validation import Validation


class FitResult(NamedTuple):
    """How a session of training ended."""

    steps: int  # made by the whole run
    outcome: str  # one line for the terminal
    summary: Summary | None = None  # None on workers, and when nothing was left to do


class Trainer:
    """Trains a run on the only host, or on the chief of several."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo, hosts: Hosts):
        self._config, self._run, self._hosts = config, run, hosts
        self._data = str(dataset.layout.root.absolute())
        agree_on_run(hosts, RunSpec.of(info, dataset=dataset))
        self._components = TrainComponents(config, dataset=dataset, run=run, info=info, hosts=hosts)
        self._incidents = IncidentLog(run)
        model, optimizer, data = self._components.model, self._components.optimizer, self._components.data
        self._validation = Validation(
            model,
            optimizer,
            config=config,
            dataset=dataset,
            lengths=info.lengths,
            run=run,
            incidents=self._incidents,
        )
        self._state = RunState(
            run,
            model=model,
            optimizer=optimizer,
            contract=dataset.info.contract.acoustic.fingerprint,
            max_to_keep=config.kept_checkpoints,
            order=data.train.fingerprint,
            steps=config.steps,
            validation_fingerprint=self._validation.validation_fingerprint(data.validation),
            preset=config.preset,
            plateau=config.plateau,
        )
        self._sync = ChiefSync(hosts, components=self._components, state=self._state)

    @property
    def devices(self) -> int:
        """Number of devices that share each batch, on all hosts."""
        return self._components.devices.count

    def resume(self) -> str:
        """Load the run's last checkpoint, if there is one; return a line for the log."""
        return self._state.resume(origin=self._components.origin)

    def fit(self, *, allocator: str, notice: str) -> FitResult:
        """Train to the last step.

        Args:
            allocator: how memory is allocated, for the log and the summary.
            notice: the line that `resume` returned, for the log.
        """
        state = self._state
        with (
            RunLogger(
                self._run,
                step=state.progress.step,
                steps=self._config.steps,
                validate_every=self._config.validate_every,
                owes_validation=state.progress.validation_pending,
                xla=self._config.xla,
            ) as logger,
            SignalHandler(logger.log, stop_point=self._hosts.stop_point) as signals,
            Session(gpus=self._components.devices.gpus, first_step=state.progress.step + 1) as session,
            state,
        ):
            loop = self._make_loop(logger=logger, signals=signals, session=session)
            slow = slow_precision_warning(self._config.model.precision)
            with session.timer.exclude():
                self._log_start(logger.log, notices=(allocator, session.pop_gpu_problem(), slow, notice))
            if loop.is_done and not state.progress.validation_pending:
                self._sync.broadcast_state()
                return FitResult(state.progress.step, f"nothing left to do: {self._how_to_continue()}")
            logger.log(state.check_disk_space())
            with session.timer.exclude():
                self._sync.broadcast_state()
            if not loop.is_done:
                with session.timer.exclude("compilation"):
                    loop.probe_memory()
            if state.progress.step == 0:
                with session.timer.exclude("checkpoint"):
                    state.save()  # a run that diverges at once rolls back to this checkpoint
            session.reset_peak_memory()
            try:
                loop.run()
            except (Interrupted, UserError, tf.errors.OpError):
                self._summarize_failure(session, allocator=allocator, log=logger.log)
                raise
            with session.timer.exclude():
                self._sync.wait()
            summary = self._summarize(session, allocator=allocator)
            for line in summary.lines():
                logger.log(line)
        return FitResult(state.progress.step, self._outcome(summary, loss=loop.last_loss), summary)

    def _make_loop(self, *, logger: RunLogger, signals: SignalHandler, session: Session) -> TrainLoop:
        recovery = Recovery(
            self._config.recovery,
            data=self._components.data,
            state=self._state,
            incidents=self._incidents,
            logger=logger,
            hosts=self._hosts,
        )
        return TrainLoop(
            self._config,
            run=self._run,
            components=self._components,
            state=self._state,
            validation=self._validation,
            incidents=self._incidents,
            recovery=recovery,
            sync=self._sync,
            logger=logger,
            signals=signals,
            session=session,
        )

    def _log_start(self, log: Callable[[str], object], *, notices: tuple[str | None, ...]) -> None:
        count = sum(int(np.prod(variable.shape)) for variable in self._components.model.trainable_variables)
        frozen = ", ".join(self._config.rate_factors.frozen)
        log(f"{self._components.devices}, {count:,} parameters{f'; frozen: {frozen}' if frozen else ''}")
        for line in self._components.data.summary_lines():
            log(line)
        for line in filter(None, notices):
            log(line)

    def _how_to_continue(self) -> str:
        return f"a plateau ended the run; {HOW_TO_CONTINUE}" if self._state.is_over else "raise steps to train on"

    def _outcome(self, summary: Summary, *, loss: float | None) -> str:
        if summary.last_step < summary.first_step:
            return "the pending validation is done"
        parts = [] if loss is None else [f"loss {loss:.4f}"]
        return ", ".join([*parts, "a plateau ended the run"] if self._state.is_over else parts)

    def _summarize(self, session: Session, *, allocator: str) -> Summary:
        """Write the session's `summary.json` and `summary.html`."""
        summary = session.summarize(
            data=self._data,
            last_step=self._state.progress.step,
            device=str(self._components.devices),
            allocator=allocator,
            programs=CompiledPrograms(
                train=self._components.programs,
                validation=self._validation.eval_step.programs,
                speech=self._validation.synthesis.programs,
                shapes=len(self._components.data.plan.buckets),
            ),
            config=self._config,
            padding=self._components.data.padding,
            stores_mels=self._components.data.stores_mels,
        )
        write_summary(summary, run=self._run)
        write_html_report(self._run)
        return summary

    def _summarize_failure(self, session: Session, *, allocator: str, log: Callable[[str], object]) -> None:
        """Write the summary of a session that failed; an error in doing so must not hide the failure itself."""
        try:
            self._summarize(session, allocator=allocator)
        except Exception as error:  # noqa: BLE001 (any error: it is logged, and the caller raises the failure)
            log(f"{self._run}: no summary written: {error or type(error).__name__}")
