from __future__ import annotations

import signal
import subprocess
import sys

PROGRAM = """
import atexit, time
from shared.interrupt import exit_interrupted
atexit.register(time.sleep, 1)
try:
    print("begun", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    atexit.register(print, "ending", flush=True)
    exit_interrupted("interrupted: and what to do next")
"""


def test_a_second_interrupt_does_not_disturb_the_end_after_the_first() -> None:
    """The end takes a second here, as that of a command on a busy machine."""
    command = ["env", "--default-signal=INT", sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in ("begun\n", "ending\n"):
        assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted: and what to do next\n")
