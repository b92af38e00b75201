"""Signals: the first is recorded, a second ends the process, whatever the main thread does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.trainer.monitoring.test_gpu_stats import wait_for
from trainer.training.signals import SignalHandler

# the main thread is in C code, as during XLA's compilation: no Python handler runs before it returns
BUSY = """
import ctypes, time
from trainer.training.signals import SignalHandler
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
    assert line == f"{number.name}: stopping soon; send it again to stop at once"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert "send it again to stop at once" in process.stdout.readline()
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(10) == 128 + number
