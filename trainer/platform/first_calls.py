"""Switches on the cache of XLA programs in TensorFlow, and adds what the first call with each shape compiled."""

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
_keeps_all = False  # programs for the GPU too, if there is one


def enable_program_cache(gpus: Sequence[GpuModel], *, is_one_host: bool) -> None:
    """Have XLA load the kept programs, and keep those that it compiles; TensorFlow must not be imported yet.

    Args:
        gpus: the visible ones. Programs for one whole GPU of one host are kept; whether others can be was not tried.
        is_one_host: False if other hosts train, too.
    """
    global _own, _keeps_all
    gpu = gpus[0] if is_one_host and len(gpus) == 1 and not gpus[0].is_divided else None
    _own = open_cache(cache_folder(gpu), devices=("CPU",) if gpu is None else ("CPU", "GPU"))
    _keeps_all = _own is not None and (gpu is not None or not gpus)
    if _own is not None:
        atexit.register(close_cache, _own)


def caches_training_programs() -> bool:
    """True if XLA loads the programs that this process trains with from disk, and keeps them there."""
    return _keeps_all


class FirstCalls:
    """The shapes with which a compiled function was called; the first call with a shape fills the cache."""

    def __init__(self, function: str) -> None:
        """
        Args:
            function: its name, unlike that of other functions that are compiled.
        """
        self._function = function
        self._shapes: set[Hashable] = set()

    @contextlib.contextmanager
    def cache_programs(self, shape: Hashable) -> Iterator[None]:
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
