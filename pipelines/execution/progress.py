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

from pipelines.execution.progress_counter import interval_s
from shared.storage_path import StoragePath

MOST_OFTEN = 20  # a look at the counts is followed by a pause of so many times its length


@contextlib.contextmanager
def show_progress(folder: StoragePath, *, label: str, total: int) -> Iterator[None]:
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
            pause_s = interval_s(folder)
            while not stop.wait(pause_s):
                began_s = time.monotonic()
                show()
                # a file for each shard is read: of many shards less often
                pause_s = max(interval_s(folder), MOST_OFTEN * (time.monotonic() - began_s))

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
            show()
        finally:
            stop.set()
            thread.join()


def _sum(folder: StoragePath) -> int:
    if not folder.is_dir():
        return 0
    return sum(int(path.read_text() or 0) for path in folder.iterdir())
