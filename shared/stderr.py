"""A stderr whose errors are ignored: its reader has gone, or it is a file on a full disk."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO, cast


def ignore_stderr_errors() -> None:
    """From now on drop what stderr cannot take, without an error; work and exit code are not affected.

    A pipe's reader ends with the signal that makes this process save its work (`… 2>&1 | tee log`, then Ctrl-C), and a
    log file's disk can be full. Otherwise rich would end the process, and a thread that logs something would die.
    """
    if sys.stderr is None:  # as in a process that begins without one (`2>&-`)
        _open_devnull_as_stderr()
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (while the process lives)
    sys.stderr = cast(TextIO, _ErrorIgnoringStream(sys.stderr))


def _open_devnull_as_stderr() -> None:
    """Open /dev/null as descriptor 2, which child processes inherit too."""
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 2)
    os.set_inheritable(2, True)
    if devnull != 2:
        os.close(devnull)


class _ErrorIgnoringStream:
    """A text stream without OSErrors in `write` and `flush`; everything else is the stream's own."""

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
