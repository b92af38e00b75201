"""Start minutes of work in background processes with the trainer's first test; the tests that need it come later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.trainer import device_runs, runs, step_options
from tests.trainer.processes import kill_all

# in the order in which the tests need them
WORKS: dict[str, Callable[[Path], Any]] = {
    "trained": runs.train_twice,
    "on_devices": device_runs.train_on_devices,
    "pairs": step_options.train_pairs,
}


@contextmanager
def run_in_background(fixtures: Set[str], *, make_folder: Callable[[str], Path]) -> Iterator[dict[str, Future[Any]]]:
    """Run the work behind these fixtures, one after another."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield {name: executor.submit(work, make_folder(name)) for name, work in WORKS.items() if name in fixtures}
        executor.shutdown(wait=False, cancel_futures=True)
        kill_all()
