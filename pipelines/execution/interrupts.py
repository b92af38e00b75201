"""Ctrl-C while a pipeline runs here: it is remembered, and no worker process outlives it.

A worker ignores Ctrl-C, because the runner disconnects it. A worker that is still importing then connects to a runner
that waits for the worker's end, and would wait for work forever: such workers are killed.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import signal
import threading
import types
from collections.abc import Iterator
from typing import Any

import psutil

WORKER_MODULE = "pipelines.execution.worker"
GRACE_S = 3.0  # in which the runner disconnects workers that prepare utterances
CHECK_EVERY_S = 0.5

_INTERRUPTED = threading.Event()
_level_before = logging.NOTSET  # up to which logging was disabled before the last interrupt


def is_interrupted() -> bool:
    """True after a Ctrl-C in the pipeline that runs, or ran last."""
    return _INTERRUPTED.is_set()


@contextlib.contextmanager
def interrupts_recorded() -> Iterator[None]:
    """From now on, remember every SIGINT before it is handled as usual.

    Worker processes that have not ended GRACE_S after the first SIGINT are killed. So are those that are left when an
    interrupted block ends. After a SIGINT nothing is logged until the next block begins, for workers end late.
    """
    if _INTERRUPTED.is_set():
        logging.disable(_level_before)
    _INTERRUPTED.clear()
    is_over = threading.Event()
    handler = signal.getsignal(signal.SIGINT)
    is_handled = threading.current_thread() is threading.main_thread() and handler not in (None, signal.SIG_IGN)
    if is_handled:
        signal.signal(signal.SIGINT, functools.partial(_handle, handler=handler))
    threading.Thread(target=_kill_stray_workers, args=[is_over], daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        if is_handled:
            signal.signal(signal.SIGINT, handler)
        if _INTERRUPTED.is_set():  # a second Ctrl-C may have ended the wait for them
            _kill_workers()


def _handle(number: int, frame: types.FrameType | None, *, handler: Any) -> None:
    """Note a SIGINT, and call the handler of before."""
    global _level_before
    if not _INTERRUPTED.is_set():
        _level_before = logging.root.manager.disable
    _INTERRUPTED.set()
    logging.disable(logging.CRITICAL)  # Beam logs a traceback for each worker whose start or work is cut short
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def _kill_stray_workers(is_over: threading.Event) -> None:
    while not (_INTERRUPTED.wait(CHECK_EVERY_S) or is_over.is_set()):
        pass
    is_over.wait(GRACE_S)
    while not is_over.wait(CHECK_EVERY_S):
        _kill_workers()


def _kill_workers() -> None:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has ended
            if any(WORKER_MODULE in word for word in child.cmdline()):
                child.kill()
