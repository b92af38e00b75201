"""The first call of each compiled program: XLA compiles the program, or loads it from those that were kept."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Hashable, Iterator
from pathlib import Path

from trainer.platform.log_filter import hide_notes
from trainer.platform.program_cache import cache_folder, close_cache, keep_programs, open_cache

_own: Path | None = None  # folder of this process's programs, where programs are kept


def start_keeping_programs() -> None:
    """Have XLA load the kept programs, and keep those that it compiles; TensorFlow must not be imported yet."""
    global _own
    _own = open_cache(cache_folder())
    if _own is not None:
        atexit.register(close_cache, _own)


class FirstCalls:
    """Knows which shapes a function was called with."""

    def __init__(self) -> None:
        self._shapes: set[Hashable] = set()

    @contextlib.contextmanager
    def of(self, shape: Hashable) -> Iterator[None]:
        """Around a call: if it is the first with this shape, hide TensorFlow's notes, and keep the new programs."""
        if shape in self._shapes or _own is None:
            yield
            return
        with hide_notes():
            yield
        self._shapes.add(shape)
        keep_programs(_own)
