"""Prepares an utterance in a process of its own, which may crash, hang or exhaust its memory without harm.

A decoder of audio is C code that reads untrusted bytes. A worker isolates an utterance if an earlier process ended
while it prepared that utterance.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from preprocess.record import Preparation
from preprocess.utterance import Rejected, Utterance

# An utterance takes milliseconds, or 3 s where the disk fails; a longer one does not end.
MAX_PREPARATION_S = 300.0
GRACE_S = 30.0  # a process whose worker was killed ends itself this long after the worker should have ended it
MAX_MEMORY_BYTES = 4 << 30  # beside the libraries; the largest recording that is decoded takes half of it
_OUT_OF_MEMORY_CODE = 3
# The detector of speech asks OpenMP for four threads, which wait for each other; with the limit it takes a sixteenth
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "RAYON_NUM_THREADS")
ONE_THREAD = dict.fromkeys(_THREADS, "1")


def isolated_failure(utterance: Utterance, *, prepare: Preparation) -> str | None:
    """Prepare an utterance in a process of its own; return how that process ended too soon, or None if it did not.

    An utterance that is rejected for its content has not failed, nor has one that raises an exception: the worker that
    prepares it then meets the same.
    """
    words = [sys.executable, "-P", "-m", __name__]
    given, environment = pickle.dumps((prepare, utterance)), os.environ | ONE_THREAD
    try:
        ended = subprocess.run(
            words, input=given, env=environment, capture_output=True, timeout=MAX_PREPARATION_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not prepared within {MAX_PREPARATION_S:.0f} s"
    if ended.returncode == _OUT_OF_MEMORY_CODE:
        return f"its decoder needs more than {MAX_MEMORY_BYTES >> 30} GiB of memory"
    return f"its decoder was ended by {signal_name(-ended.returncode)}" if ended.returncode < 0 else None


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def answer_or_problem(answer: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What a function that reads a recording returns, or `problem`: why the recording cannot be read."""
    try:
        return answer()
    except Rejected as error:
        return {"problem": error.message}
    except OSError as error:
        return {"problem": error.strerror or "cannot be read"}
    except MemoryError:
        return {"problem": "its decoder needs too much memory"}


def main() -> None:
    """Prepare the utterance that a pickle in stdin holds, with limited memory.

    The process that waits for this one may be killed: this one ends by a signal then, also inside a decoder.
    """
    signal.setitimer(signal.ITIMER_REAL, MAX_PREPARATION_S + GRACE_S)
    prepare, utterance = pickle.load(sys.stdin.buffer)
    limit_memory()
    try:
        prepare(utterance)
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY_CODE)


def limit_memory() -> None:
    """Limit what this process may take beside the address space that its libraries have reserved already."""
    reserved_pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    limit = reserved_pages * resource.getpagesize() + MAX_MEMORY_BYTES
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    if hard_limit == resource.RLIM_INFINITY or limit < hard_limit:
        with contextlib.suppress(ValueError, OSError):  # a system without this limit
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


if __name__ == "__main__":
    main()
