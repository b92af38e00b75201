"""SIGTERM and SIGINT: the first asks a run to save and leave, a second ends the process at once."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

HANDLED = (signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """A run left because of a signal; the message says where it stands."""

    def __init__(self, message: str, *, signal_number: int):
        super().__init__(message)
        self.exit_code = 128 + signal_number  # as a shell tells of a process that a signal ended


class SignalHandler:
    """Notes the first signal while it is entered, by a thread: the main one may be compiling for minutes."""

    def __init__(self, tell: Callable[[str], object], *, stop_point: str):
        """`stop_point` says when, after the first signal."""
        self.received: signal.Signals | None = None
        self._stop_point = stop_point
        self._tell, self._before = tell, {}  # type: ignore[var-annotated]
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)

    def __enter__(self) -> SignalHandler:
        # Python writes a signal's number there as soon as it comes, whatever the main thread is at
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _do_nothing) for number in HANDLED}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._writer.close()
        self._thread.join()
        self._reader.close()

    def _listen(self) -> None:
        while byte := self._reader.recv(1):
            if byte[0] not in HANDLED:
                continue
            if self.received is not None:
                os._exit(128 + byte[0])
            self.received = signal.Signals(byte[0])
            self._tell(f"{self.received.name}: leaving {self._stop_point}; once more to leave at once")


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Python's own part of a signal is the byte that it writes."""
