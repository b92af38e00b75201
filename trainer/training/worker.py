"""Training on every host but the chief: the same steps on its own part of each batch; nothing is written.

The chief sends the state to start from, and decides at each pause whether the run continues, stops or rolls back.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.distributed_input import local_values
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, translate_oom_in_input
from trainer.training.chief_sync import SyncedProgress
from trainer.training.components import TrainComponents
from trainer.training.run_spec import RunSpec, agree_on_run
from trainer.training.signals import Interrupted, SignalHandler
from trainer.training.skipped_steps import SkippedStepTracker


class Worker:
    """Trains on a host that is not the chief; each collective operation matches one of the chief's."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, hosts: Hosts):
        """
        Raises:
            UserError: the chief trains with another program version, dataset or config.
        """
        self._config, self._hosts = config, hosts
        info = agree_on_run(hosts, RunSpec.of(RunInfo.of(config, dataset=dataset), dataset=dataset))
        self._components = TrainComponents(config, dataset=dataset, run=run, info=info, hosts=hosts)
        self._progress = SyncedProgress(0, Position(), False, False)

    def fit(self) -> int:
        """Train to the last step, and return its number.

        Raises:
            UserError: another host is gone, or a batch does not fit into memory.
            Interrupted: one of the hosts received a signal.
        """
        self._log(f"{self._components.devices}; checkpoints, metrics and validation are the chief's")
        with SignalHandler(self._log, stop_point=self._hosts.stop_point) as signals:
            self._receive_state()
            if not self._is_done:
                self._components.probe_memory(reduce=self._fail_out_of_memory, announce=lambda *_, **__: None)
            try:
                self._run(signals)
            except OutOfMemory as event:
                self._fail_out_of_memory(self._components.data.planned_bucket(event.bucket))
        return self._progress.step

    @property
    def _is_done(self) -> bool:
        return self._progress.is_over or self._progress.step >= self._config.steps

    def _receive_state(self) -> None:
        self._progress = self._progress.broadcast(self._hosts)
        self._components.broadcast_state()

    def _run(self, signals: SignalHandler) -> None:
        """Run to the end, continuing from the chief's state after each rollback."""
        if self._is_done and not self._progress.validation_pending:
            return
        while self._progress.validation_pending or not self._is_done:
            self._run_steps(signals)
        self._hosts.barrier()

    def _run_steps(self, signals: SignalHandler) -> None:
        """Run steps until the run ends or the chief rolls it back."""
        if self._progress.validation_pending:
            self._sync_stop(signals, validated=True)
        if self._is_done:
            return
        skipped = SkippedStepTracker(self._components.optimizer.skipped_in_row)
        batches = self._components.devices.batches(self._components.data.train, self._progress.position, log=self._log)
        for step, batch in zip(
            range(self._progress.step + 1, self._config.steps + 1), translate_oom_in_input(batches), strict=False
        ):
            position = batch.pop("next")
            skipped.record(step, self._components.train_on(batch), rows=local_values(batch["rows"]))
            self._progress = self._progress._replace(step=step, position=position)
            if not (self._config.is_due(step, *self._config.intervals) or skipped.is_full):
                continue
            for one in skipped.collect():
                self._hosts.gather(one.rows)
            if skipped.consecutive >= self._config.recovery.max_nonfinite_steps:
                self._receive_state()  # the chief has rolled back
                return
            self._sync_stop(signals, validated=self._config.is_due(step, self._config.validate_every))
            if self._is_done:
                return

    def _sync_stop(self, signals: SignalHandler, *, validated: bool) -> None:
        """Learn from the other hosts whether the run goes on.

        Raises:
            Interrupted: one of the hosts received a signal.
        """
        if validated:
            self._hosts.broadcast_variables(self._components.optimizer.schedule_variables)
        received, is_over = self._hosts.sync_stop(received=signals.received)
        self._progress = self._progress._replace(validation_pending=False, is_over=is_over)
        if received is not None:
            self._hosts.barrier()
            where = f"{self._hosts}: {signal.Signals(received).name}: stopped after step {self._progress.step}"
            raise Interrupted(
                f"{where}, which the chief has saved; run the same command on all hosts again to continue",
                signal_number=received,
            )

    def _fail_out_of_memory(self, bucket: Bucket) -> None:
        raise UserError(
            f"{self._hosts}: out of memory in bucket {bucket} (clips×frames×tokens), unknown to the other hosts; lower "
            "input.global_frames_per_batch on all hosts, or free this host's devices, and start again"
        )

    def _log(self, message: str) -> None:
        print(f"{self._hosts}: {message}", file=sys.stderr, flush=True)
