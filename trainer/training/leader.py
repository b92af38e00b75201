"""What the first host has to do with the others: it tells them where its run stands, and agrees with them to go on.

Where it is the only one, it agrees with itself, and nothing is sent.
"""

from __future__ import annotations

import signal
from typing import NamedTuple

from shared.errors import UserError
from trainer.checkpoint.run_state import RunState
from trainer.data.buckets import Bucket
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.training.learner import Learner
from trainer.training.signals import SignalHandler


class SyncedProgress(NamedTuple):
    """Where a run stands, besides what its variables hold."""

    step: int
    position: Position  # of the batch to come
    validation_pending: bool
    is_over: bool

    def broadcast(self, hosts: Hosts) -> SyncedProgress:
        """That of the first host."""
        numbers = hosts.broadcast([self.step, *map(int, self.position), self.validation_pending, self.is_over])
        return SyncedProgress(numbers[0], Position(*numbers[1:4]), bool(numbers[4]), bool(numbers[5]))


class Leader:
    """Each method has its counterpart in what the others do at the same place."""

    def __init__(self, hosts: Hosts, *, learner: Learner, state: RunState):
        self._hosts, self._learner, self._state = hosts, learner, state

    def share_state(self) -> None:
        """Have the other hosts begin where this one stands."""
        progress = self._state.progress
        SyncedProgress(progress.step, progress.position, progress.validation_pending, self._state.is_over).broadcast(
            self._hosts
        )
        self._learner.share_state()

    def may_leave(self, signals: SignalHandler) -> bool:
        """Whether a signal asks for it, and no other hosts have to stop at the same step."""
        return signals.received is not None and self._hosts.count == 1

    def sync_stop(self, signals: SignalHandler, *, validated: bool) -> signal.Signals | None:
        """The signal that asked one of the hosts to leave, if one did; all of them then do.

        A validation may have changed what steers the learning rate.
        """
        if validated:
            self._hosts.broadcast_variables(self._learner.optimizer.steering)
        asked, _ = self._hosts.sync_stop(asked=signals.received, is_over=self._state.is_over)
        return None if asked is None else signal.Signals(asked)

    def wait(self) -> None:
        """Wait until everything is written, and have the others wait too."""
        self._state.wait()
        self._hosts.barrier()

    def give_up(self, bucket: Bucket) -> None:
        """After a batch did not fit: where others are amid a step that this host did not make.

        Raises:
            UserError: there are others.
        """
        if self._hosts.count > 1:
            raise UserError(
                f"{self._hosts}: out of memory in bucket {bucket} (clips×frames×tokens); it is lowered: start the same "
                "command on all hosts again"
            )
