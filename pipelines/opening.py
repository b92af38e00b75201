"""A dataset that stays as it is while one reads it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from shared.dataset import Dataset
from shared.layout import Layout
from shared.lock import reading
from shared.publication import finish_publication


@contextlib.contextmanager
def open_for_reading(root: Path) -> Iterator[Dataset]:
    """The dataset, with writers kept away.

    Raises:
        UserError: one is at it, or there is no finished dataset.
    """
    with reading(root):
        pass  # a writer that lives is refused before anything waits for it
    finish_publication(Layout(root))  # of one that was killed; takes the lock itself
    with reading(root):
        yield Dataset.open(root)
