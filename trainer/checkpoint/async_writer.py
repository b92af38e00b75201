"""Saving while training goes on: a thread writes what the loop has copied, one checkpoint at a time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shared.errors import UserError
from trainer.checkpoint.checkpoint import Progress, Snapshot, State, copy_arrays, write_checkpoint


class Saver:
    """Writes the checkpoints of a run while it is entered, and has written all of them when it is left."""

    def __init__(self, run: Path, *, contract: str, kept: int):
        self._run, self._contract, self._kept = run, contract, kept
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[Path] | None = None

    def __enter__(self) -> Saver:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.settle()
        except UserError as unsaved:
            if error is None:
                raise
            raise UserError(f"{error}; and {unsaved}") from error
        finally:
            self._thread.shutdown()

    def save(self, state: State, *, progress: Progress, is_sure: bool = True) -> None:
        """Copy the state and have it written; first waits for the one before, so that there is one copy at most.

        A checkpoint that is not sure to be good drives out none of those before it.

        Raises:
            UserError: the one before could not be written.
        """
        self.settle()
        snapshot = Snapshot(copy_arrays(state), progress, self._contract)
        kept = self._kept if is_sure else None
        self._pending = self._thread.submit(write_checkpoint, self._run, snapshot, kept=kept)

    def check(self) -> None:
        """Raises UserError where a checkpoint could not be written; does not wait."""
        if self._pending is not None and self._pending.done():
            self.settle()

    def settle(self) -> None:
        """Wait until everything is written.

        Raises:
            UserError: it could not be.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
