"""The first call of each compiled program: XLA compiles the program, or loads it from those that were kept."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from trainer.platform.log_filter import hide_notes
from trainer.platform.program_cache import cache_folder, close_cache, keep_programs, open_cache
from trainer.platform.trace_numbers import numbered_by
from trainer.platform.visible_gpus import GpuModel

_own: Path | None = None  # folder of this process's programs, where programs are kept


def start_keeping_programs(gpus: Sequence[GpuModel]) -> None:
    """Have XLA load the kept programs, and keep those that it compiles; TensorFlow must not be imported yet.

    Args:
        gpus: the visible ones. Programs of a single GPU are kept; whether they can be on several was not tried.
    """
    global _own
    gpu = gpus[0] if len(gpus) == 1 else None
    _own = open_cache(cache_folder(gpu), devices=("CPU",) if gpu is None else ("CPU", "GPU"))
    if _own is not None:
        atexit.register(close_cache, _own)


def is_keeping_programs() -> bool:
    """True if XLA loads programs from disk in this process."""
    return _own is not None


class FirstCalls:
    """Knows which shapes a function was called with."""

    def __init__(self, function: str) -> None:
        """
        Args:
            function: its name, unlike that of other functions that are compiled.
        """
        self._function = function
        self._shapes: set[Hashable] = set()

    @contextlib.contextmanager
    def of(self, shape: Hashable) -> Iterator[None]:
        """Around a call: if it is the first with this shape, hide TensorFlow's notes, and keep the new programs.

        Args:
            shape: what the function is compiled for; its text is the same in every process.
        """
        if shape in self._shapes or _own is None:
            yield
            return
        with hide_notes(), numbered_by(f"{self._function} {shape}"):
            yield
        self._shapes.add(shape)
        keep_programs(_own)
