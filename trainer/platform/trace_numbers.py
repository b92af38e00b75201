"""Numbers that TensorFlow puts into the names of traced functions and loops, the same in every process.

TensorFlow counts, in the order in which a process traces. XLA's kept programs are found by these names among others, so
that a process that traces in another order, such as a resumed training, would find none. `tensorflow.python` is no
public interface; `test_trace_numbers.py` shows that this works in the pinned version.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
from collections.abc import Iterator

_FIRST = 1 << 60  # TensorFlow's own numbers stay below
_PER_PROGRAM = 1 << 24  # more than a program takes, even if it is traced again and again
_PROGRAMS = 1 << 32

_counters: dict[str, Iterator[int]] = {}
_tracing = threading.local()  # only the thread that traces takes numbers of the program


@contextlib.contextmanager
def numbered_by(program: str) -> Iterator[None]:
    """Around a call that traces: have TensorFlow take numbers that follow from the program's name alone.

    A name that is used again goes on where it ended: a process never gives a number twice.
    """
    from tensorflow.python.framework import ops

    ops.get_default_graph()  # the first trace of a process makes it, and takes a number for it
    _install(ops)
    outer = getattr(_tracing, "counter", None)
    _tracing.counter = _counters.setdefault(program, itertools.count(_first_number(program)))
    try:
        yield
    finally:
        _tracing.counter = outer


def _first_number(program: str) -> int:
    digest = hashlib.blake2b(program.encode(), digest_size=8).digest()
    return _FIRST + int.from_bytes(digest) % _PROGRAMS * _PER_PROGRAM


def _install(ops: object) -> None:
    """Replace `ops.uid`, once, by a function that asks the counter of the thread first."""
    own = ops.uid  # type: ignore[attr-defined]
    if getattr(own, "is_by_program", False):
        return

    def uid() -> int:
        counter = getattr(_tracing, "counter", None)
        return own() if counter is None else next(counter)

    uid.is_by_program = True  # type: ignore[attr-defined]
    ops.uid = uid  # type: ignore[attr-defined]
