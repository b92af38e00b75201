"""Saving while training goes on: a thread writes what the loop has copied, one checkpoint at a time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shared.errors import UserError
from trainer.checkpoint.checkpoint import NamedVariables, Progress, Snapshot, copy_to_host, write_checkpoint


class AsyncCheckpointWriter:
    """Writes the checkpoints of a run while it is entered, and has written all of them when it is left."""

    def __init__(self, run: Path, *, contract: str, max_to_keep: int):
        self._run, self._contract, self._max_to_keep = run, contract, max_to_keep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[Path] | None = None

    def __enter__(self) -> AsyncCheckpointWriter:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.wait()
        except UserError as unsaved:
            if error is None:
                raise
            raise UserError(f"{error}; and {unsaved}") from error
        finally:
            self._thread.shutdown()

    def save(self, state: NamedVariables, *, progress: Progress, is_sure: bool = True) -> None:
        """Copy the state and have it written; first waits for the one before, so that there is one copy at most.

        A checkpoint that is not sure to be good drives out none of those before it.

        Raises:
            UserError: the one before could not be written.
        """
        self.wait()
        snapshot = Snapshot(copy_to_host(state), progress, self._contract)
        max_to_keep = self._max_to_keep if is_sure else None
        self._pending = self._thread.submit(write_checkpoint, self._run, snapshot, max_to_keep=max_to_keep)

    def raise_write_error(self) -> None:
        """Raises UserError where a checkpoint could not be written; does not wait."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def wait(self) -> None:
        """Wait until everything is written.

        Raises:
            UserError: it could not be.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
