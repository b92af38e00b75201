"""Write checkpoints in a background thread while training continues, one at a time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shared.errors import UserError
from trainer.checkpoint.checkpoint import NamedVariables, Progress, Snapshot, copy_to_host, write_checkpoint
from trainer.checkpoint.checkpoint_files import checkpoint_path, mark_best


class AsyncCheckpointWriter:
    """Context manager that writes a run's checkpoints; on exit all of them are written."""

    def __init__(self, run: Path, *, contract: str, max_to_keep: int):
        self._run, self._contract, self._max_to_keep = run, contract, max_to_keep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: list[Future[object]] = []

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

    def save(self, variables: NamedVariables, *, progress: Progress, prune: bool = True) -> None:
        """Copy the variables and write them in the background.

        Waits for the previous checkpoint first, so that at most one copy exists.

        Args:
            prune: remove old checkpoints beyond `max_to_keep`; False if this one may be unusable.

        Raises:
            UserError: the previous checkpoint could not be written.
        """
        self.wait()
        snapshot = Snapshot(copy_to_host(variables), progress, self._contract)
        max_to_keep = self._max_to_keep if prune else None
        self._pending.append(self._thread.submit(write_checkpoint, self._run, snapshot, max_to_keep=max_to_keep))

    def mark_best(self, step: int) -> None:
        """Give the checkpoint of a step, once it is written, the second name of the best; does not wait."""
        self._pending.append(self._thread.submit(mark_best, checkpoint_path(self._run, step=step)))

    def raise_write_error(self) -> None:
        """Raise UserError if the last checkpoint could not be written; does not wait."""
        if all(one.done() for one in self._pending):
            self.wait()

    def wait(self) -> None:
        """Wait until everything is written.

        Raises:
            UserError: the checkpoint could not be written.
        """
        pending, self._pending = self._pending, []
        for one in pending:
            one.result()
