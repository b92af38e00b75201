"""Progress with time left, on any number of worker processes.

A worker that has a shard in hand keeps a small file with the number of elements done; the driver adds them
up. Beam's metrics are of no use for this: the local runner hands them out at the end only.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from shared.place import Place, RemotePlace

INTERVAL_S = 0.5
# A store takes a request per file, of some 50 ms, where a disk takes 50 μs.
REMOTE_INTERVAL_S = 10.0


class Tally:
    """The worker's side: counts elements of one shard into one file, at most so often as `interval_s` has it."""

    def __init__(self, folder: Place, *, name: str):
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._interval_s = folder / name, interval_s(folder)
        self._done, self._next_s = 0, 0.0

    def add(self, count: int = 1) -> None:
        """So many more elements are done."""
        self._done += count
        if time.monotonic() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        self._path.write_text(str(self._done))
        self._next_s = time.monotonic() + self._interval_s


def interval_s(folder: Place) -> float:
    """How often counts are written and read."""
    return REMOTE_INTERVAL_S if isinstance(folder, RemotePlace) else INTERVAL_S


@contextlib.contextmanager
def show_progress(folder: Place, *, label: str, total: int) -> Iterator[None]:
    """The driver's side: a bar on stderr while the body runs."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    stop = threading.Event()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total)

        def show() -> None:
            with contextlib.suppress(OSError):  # a store is busy for a moment: the bar stays where it was
                bar.update(task, completed=_sum(folder))

        def follow() -> None:
            while not stop.wait(interval_s(folder)):
                show()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
            show()
        finally:
            stop.set()
            thread.join()


def _sum(folder: Place) -> int:
    if not folder.is_dir():
        return 0
    return sum(int(path.read_text() or 0) for path in folder.iterdir())
