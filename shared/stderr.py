"""A stderr that may fail: whoever read it has gone, or it is a file on a disk that is full."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO, cast


def ignore_stderr_errors() -> None:
    """From now on what stderr does not take is lost, and nothing else: neither work nor how the process ends.

    A pipe's reader goes with the signal that is to have the work saved (`… 2>&1 | tee log`, then Ctrl-C), a disk is
    full of what is to be told of. rich would end the process there, and a thread that tells something would die.
    """
    if sys.stderr is None:  # as in a process that begins without one (`2>&-`)
        _open_nothing()
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (while the process lives)
    sys.stderr = cast(TextIO, _Lossy(sys.stderr))


def _open_nothing() -> None:
    """As descriptor 2, which the processes begun from here are to have too, whatever others are closed."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)
    os.set_inheritable(2, True)
    if nothing != 2:
        os.close(nothing)


class _Lossy:
    """All else is the stream's own."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
