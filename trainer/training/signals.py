"""Handle SIGTERM and SIGINT: the first one stops the run after a checkpoint, a second one ends the process at once.

Systemd and cluster schedulers signal all processes of a group: `make train` and the training. make passes the signal
on, so the training gets it twice. Therefore the same signal counts once within a second.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType

HANDLED = (signal.SIGTERM, signal.SIGINT)
REPEAT_S = 1.0


class Interrupted(Exception):
    """A signal stopped the run; the message says after which step."""

    def __init__(self, message: str, *, signal_number: int):
        super().__init__(message)
        self.exit_code = 128 + signal_number  # the exit code that shells report for a process ended by a signal


class SignalHandler:
    """Context manager that records the first signal in a thread, since the main thread may be compiling for minutes.

    Attributes:
        received: the first signal, or None.
    """

    def __init__(self, log: Callable[[str], object], *, stop_point: str):
        """
        Args:
            log: receives a message at the first signal.
            stop_point: when the run will stop, for that message.
        """
        self.received: signal.Signals | None = None
        self._stop_point = stop_point
        self._log, self._before = log, {}  # type: ignore[var-annotated]
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)

    def __enter__(self) -> SignalHandler:
        # Python writes the signal's number to this socket at once, whatever the main thread is doing
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
        received_s = 0.0
        while byte := self._reader.recv(1):
            if byte[0] not in HANDLED:
                continue
            if self.received is not None:
                if byte[0] == self.received and time.monotonic() < received_s + REPEAT_S:
                    continue
                os._exit(128 + byte[0])
            received_s = time.monotonic()
            self.received = signal.Signals(byte[0])
            self._log(
                f"{self.received.name}: stopping {self._stop_point}; send it again after a second to stop at once"
            )


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """The wake-up byte that Python writes is all that is needed."""
