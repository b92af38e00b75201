"""Training on a host that is not the first: the same steps on its own part of each batch, nothing written.

Where to begin, and what becomes of the run wherever it pauses, comes from the first host.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import NamedTuple

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.train_config import TrainConfig
from trainer.data.buckets import Bucket
from trainer.data.distributed_input import parts_of
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import OutOfMemory, translate_oom_in_input
from trainer.training.incidents import SkippedStepTracker
from trainer.training.leader import SyncedProgress
from trainer.training.learner import Learner
from trainer.training.run_spec import RunSpec, broadcast_run_spec
from trainer.training.signals import Interrupted, SignalHandler


class Followed(NamedTuple):
    """How that ended."""

    steps: int

    @property
    def outcome(self) -> str:
        """In words."""
        return "as on the first host, which has the run"


class Follower:
    """Everything that such a host holds while a run goes on."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, hosts: Hosts):
        """
        Raises:
            UserError: the first host trains something else.
        """
        self._config, self._hosts = config, hosts
        info = broadcast_run_spec(hosts, RunSpec.of(RunInfo.of(config, dataset=dataset), dataset=dataset))
        self._learner = Learner(config, dataset=dataset, run=run, info=info, hosts=hosts)
        self._standing = SyncedProgress(0, Position(), False, False)

    def follow(self) -> Followed:
        """To the last step.

        Raises:
            UserError: another host is gone, or a batch does not fit.
            Interrupted: a signal asked one of the hosts for it.
        """
        self._say(f"{self._learner.devices}; checkpoints, figures and validation are the first host's")
        with SignalHandler(self._say, stop_point=self._hosts.stop_point) as signals:
            self._take_over()
            if not self._is_done:
                self._learner.probe_memory(lower=self._give_up, announce=lambda *_, **__: None)
            try:
                self._follow(signals)
            except OutOfMemory as event:
                self._give_up(self._learner.feed.planned_bucket(event.bucket))
        return Followed(self._standing.step)

    @property
    def _is_done(self) -> bool:
        return self._standing.is_over or self._standing.step >= self._config.steps

    def _take_over(self) -> None:
        """What the first host is at."""
        self._standing = self._standing.broadcast(self._hosts)
        self._learner.share_state()

    def _follow(self, signals: SignalHandler) -> None:
        """Again after each time that the run went back."""
        if self._is_done and not self._standing.validation_pending:
            return
        while self._standing.validation_pending or not self._is_done:
            self._go_on(signals)
        self._hosts.barrier()

    def _go_on(self, signals: SignalHandler) -> None:
        """Step after step from where the run stands, until it ends or goes back."""
        if self._standing.validation_pending:
            self._sync_stop(signals, validated=True)
        if self._is_done:
            return
        skipped = SkippedStepTracker(self._learner.optimizer.skipped_in_row)
        batches = self._learner.devices.batches(self._learner.feed.train, self._standing.position, tell=self._say)
        for step, batch in zip(
            range(self._standing.step + 1, self._config.steps + 1), translate_oom_in_input(batches), strict=False
        ):
            position = batch.pop("next")
            skipped.record(step, self._learner.train_on(batch), rows=parts_of(batch["rows"]))
            self._standing = self._standing._replace(step=step, position=position)
            if not (self._config.is_due(step, *self._config.intervals) or skipped.is_full):
                continue
            for one in skipped.collect():
                self._hosts.gather(one.rows)
            if skipped.consecutive >= self._config.recovery.max_nonfinite_steps:
                self._take_over()
                return
            self._sync_stop(signals, validated=self._config.is_due(step, self._config.validate_every))
            if self._is_done:
                return

    def _sync_stop(self, signals: SignalHandler, *, validated: bool) -> None:
        """How to go on.

        Raises:
            Interrupted: not at all.
        """
        if validated:
            self._hosts.broadcast_variables(self._learner.optimizer.steering)
        asked, is_over = self._hosts.sync_stop(asked=signals.received)
        self._standing = self._standing._replace(validation_pending=False, is_over=is_over)
        if asked is not None:
            self._hosts.barrier()
            where = f"{self._hosts}: {signal.Signals(asked).name}: left after step {self._standing.step}"
            raise Interrupted(
                f"{where}, which the first host has saved; the same command on all hosts goes on from there",
                signal_number=asked,
            )

    def _give_up(self, bucket: Bucket) -> None:
        raise UserError(
            f"{self._hosts}: out of memory in bucket {bucket} (clips×frames×tokens), which the other hosts do not know "
            "of; lower input.global_frames_per_batch on all hosts, or free this one's devices, and start again"
        )

    def _say(self, message: str) -> None:
        print(f"{self._hosts}: {message}", file=sys.stderr, flush=True)
