"""Processes whose stderr has lost its reader, or is on a full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SPEAKING = """
import logging, sys
import click
from rich.console import Console
from shared.stderr import ignore_stderr_errors

ignore_stderr_errors()
for number in range(2_000):
    print("a line", number, file=sys.stderr)
    click.echo("another", err=True)
    Console(stderr=True).print("and one of rich")
    logging.error("and one of a library")
print("done")
sys.exit(7)
"""

PARENT = """
import subprocess, sys
from shared.stderr import ignore_stderr_errors

ignore_stderr_errors()
sys.exit(subprocess.call([sys.executable, "-c", "import os; os.write(2, b'told')"]))
"""

BUSY = """
import ctypes, time
from rich.console import Console
from shared.stderr import ignore_stderr_errors
from trainer.training.signals import SignalHandler

ignore_stderr_errors()
with SignalHandler(Console(stderr=True).print, stop_point="soon") as signals:
    print("ready", flush=True)
    while signals.received is None:
        time.sleep(0.01)
    print(signals.received.name, flush=True)
    ctypes.CDLL(None).sleep(60)
"""


@pytest.fixture(params=["left", "full"])
def stderr(request: pytest.FixtureRequest) -> Iterator[int]:
    """A pipe without a reader, or a file on a full disk."""
    if request.param == "full":
        end = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, end = os.pipe()
        os.close(reader)
    yield end
    os.close(end)


@pytest.mark.slow
def test_a_failing_stderr_affects_neither_the_work_nor_the_exit_code(stderr: int) -> None:
    ended = subprocess.run([sys.executable, "-c", SPEAKING], stdout=subprocess.PIPE, stderr=stderr, timeout=60)
    assert (ended.stdout, ended.returncode) == (b"done\n", 7)


def test_signals_are_handled_although_stderr_fails(stderr: int) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "SIGTERM\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT


@pytest.mark.slow
def test_a_working_stderr_receives_what_is_written() -> None:
    ended = subprocess.run([sys.executable, "-c", SPEAKING], capture_output=True, text=True, timeout=60)
    assert ended.stderr.count("another\n") == ended.stderr.count("and one of rich\n") == 2_000


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_a_process_that_begins_without_a_stderr_does_its_work(closed: str) -> None:
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", SPEAKING]
    ended = subprocess.run(words, stdout=subprocess.PIPE, timeout=60)
    assert (ended.stdout.splitlines()[-1:], ended.returncode) == ([b"done"], 7)


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_child_processes_have_a_stderr(closed: str) -> None:
    assert subprocess.call(["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", PARENT]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_the_trainer_does_its_work_without_a_stderr(tmp_path: Path, closed: str) -> None:
    """It hands the descriptor on, to what filters TensorFlow's notes."""
    command = Path(sys.executable).with_name("myxtts-train")
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", str(command), "doctor", "--run", str(tmp_path)]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=120)
    assert "ok XLA" in ended.stdout
    assert ended.returncode == 0
