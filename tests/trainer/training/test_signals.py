"""Signals: the first is recorded, a second ends the process, whatever the main thread does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.trainer.monitoring.test_gpu_stats import wait_for
from trainer.training.signals import SignalHandler

# the main thread is in C code, as during XLA's compilation: no Python handler runs before it returns
BUSY = """
import ctypes, sys, time
from trainer.training import signals
from trainer.training.signals import SignalHandler
signals.REPEAT_S = float(sys.argv[1])
with SignalHandler(lambda line: print(line, flush=True), stop_point="soon"):
    print("ready", flush=True)
    ctypes.CDLL(None).sleep(60)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_is_recorded_and_the_handlers_are_restored(number: signal.Signals) -> None:
    before, said = signal.getsignal(number), []
    with SignalHandler(said.append, stop_point="soon") as signals:
        assert signals.received is None
        os.kill(os.getpid(), number)
        wait_for(lambda: signals.received is not None)
        assert signals.received == number
    assert signal.getsignal(number) == before
    (line,) = said
    assert line == f"{number.name}: stopping soon; send it again after a second to stop at once"


@contextlib.contextmanager
def stopping(number: signal.Signals, *, repeat_s: float) -> Iterator[subprocess.Popen[str]]:
    """A process that has got a signal; the same one counts once within `repeat_s`."""
    words = [sys.executable, "-c", BUSY, str(repeat_s)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert "send it again after a second to stop at once" in process.stdout.readline()
        assert process.poll() is None
        yield process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    with stopping(number, repeat_s=0) as process:
        process.send_signal(number)
        assert process.wait(10) == 128 + number


def test_a_signal_that_make_passes_on_beside_its_process_group_counts_once() -> None:
    with stopping(signal.SIGTERM, repeat_s=3600) as process:
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT
