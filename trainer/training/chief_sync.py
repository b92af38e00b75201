"""The chief's side of the synchronization between hosts: broadcast the state, and agree on when to stop.

On a single host the same calls involve no communication.
"""

from __future__ import annotations

import signal
from typing import NamedTuple

from shared.errors import UserError
from trainer.checkpoint.run_state import RunState
from trainer.data.bucket_types import Bucket
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.training.components import TrainComponents
from trainer.training.signals import SignalHandler


class SyncedProgress(NamedTuple):
    """The part of a run's progress that all hosts hold."""

    step: int
    position: Position  # of the next batch
    validation_pending: bool
    is_over: bool  # a plateau ended the run

    def broadcast(self, hosts: Hosts) -> SyncedProgress:
        """Return the chief's progress; a collective operation."""
        numbers = hosts.broadcast([self.step, *map(int, self.position), self.validation_pending, self.is_over])
        return SyncedProgress(numbers[0], Position(*numbers[1:4]), bool(numbers[4]), bool(numbers[5]))


class ChiefSync:
    """Collective operations of the chief; `worker.Worker` calls the matching ones at the same points."""

    def __init__(self, hosts: Hosts, *, components: TrainComponents, state: RunState):
        self._hosts, self._components, self._state = hosts, components, state

    def broadcast_state(self) -> None:
        """Send progress, weights and optimizer state to the workers."""
        progress = self._state.progress
        own = SyncedProgress(progress.step, progress.position, progress.validation_pending, self._state.is_over)
        own.broadcast(self._hosts)
        self._components.broadcast_state()

    @property
    def has_workers(self) -> bool:
        """True if the run has several hosts."""
        return self._hosts.count > 1

    def may_stop(self, signals: SignalHandler) -> bool:
        """True if a signal arrived and no other host has to stop at the same step."""
        return signals.received is not None and not self.has_workers

    def sync_stop(self, signals: SignalHandler, *, validated: bool) -> signal.Signals | None:
        """Return the signal that any host received, if one did: then all hosts stop after this step.

        A validation may have changed the variables that control the learning rate; then they are broadcast first.
        """
        if validated:
            self._hosts.broadcast_variables(self._components.optimizer.schedule_variables)
        received, _ = self._hosts.sync_stop(received=signals.received, is_over=self._state.is_over)
        return None if received is None else signal.Signals(received)

    def wait(self) -> None:
        """Wait until all checkpoints are written; the workers wait too."""
        self._state.wait()
        self._hosts.barrier()

    def refuse_out_of_memory(self, bucket: Bucket) -> None:
        """End the run after an out-of-memory error if there are workers, which are in the middle of the same step.

        Raises:
            UserError: the run has several hosts.
        """
        if self.has_workers:
            raise UserError(
                f"{self._hosts}: out of memory in bucket {bucket} (clips×frames×tokens); its batch size is reduced: "
                "start the same command on all hosts again"
            )
