"""Shows a progress bar for a job on any number of worker processes.

For each shard, a worker keeps a small file with the number of processed elements; the driver adds them up. Beam's
metrics cannot be used: the local runner returns them only at the end.
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

PAUSE_FACTOR = 20  # the pause between two reads of all counts is at least this many times as long as a read


@contextlib.contextmanager
def show_progress(folder: StoragePath, *, label: str, total: int) -> Iterator[None]:
    """Show a bar on stderr while the body runs; called in the driver."""
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

        def update() -> None:
            with contextlib.suppress(OSError):  # a busy object store: the bar keeps its position
                bar.update(task, completed=_sum_counts(folder))

        def follow() -> None:
            pause_s = interval_s(folder)
            while not stop.wait(pause_s):
                began_s = time.monotonic()
                update()
                # each update reads a file per shard: with many shards, update less often
                pause_s = max(interval_s(folder), PAUSE_FACTOR * (time.monotonic() - began_s))

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
            update()
        finally:
            stop.set()
            thread.join()


def _sum_counts(folder: StoragePath) -> int:
    if not folder.is_dir():
        return 0
    return sum(int(path.read_text() or 0) for path in folder.iterdir())
