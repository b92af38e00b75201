"""Prepares an utterance in a process of its own, which may crash, hang or exhaust its memory without harm.

A decoder of audio is C code that reads untrusted bytes. A worker isolates an utterance if an earlier process ended
while it prepared that utterance.
"""

from __future__ import annotations

import pickle
import resource
import signal
import subprocess
import sys

from preprocess.record import Preparation
from preprocess.utterance import Utterance

# An utterance takes milliseconds, or 3 s where the disk fails; a longer one does not end.
MAX_PREPARATION_S = 300.0
MAX_MEMORY_BYTES = 4 << 30  # address space: the libraries and the largest recording that is decoded take half of it
_OUT_OF_MEMORY_CODE = 3


def isolated_failure(utterance: Utterance, *, prepare: Preparation) -> str | None:
    """Prepare an utterance in a process of its own; return how that process failed, or None if it did not.

    An utterance that is rejected for its content has not failed.
    """
    words = [sys.executable, "-P", "-m", __name__]
    given = pickle.dumps((prepare, utterance))
    try:
        ended = subprocess.run(words, input=given, capture_output=True, timeout=MAX_PREPARATION_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not prepared within {MAX_PREPARATION_S:.0f} s"
    if ended.returncode < 0:
        return f"its decoder was ended by {signal.Signals(-ended.returncode).name}"
    if ended.returncode == _OUT_OF_MEMORY_CODE:
        return f"its decoder needs more than {MAX_MEMORY_BYTES >> 30} GiB of memory"
    last_line = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return f"its decoder failed: {last_line[:200]}" if ended.returncode else None


def main() -> None:
    """Prepare the utterance that a pickle in stdin holds, with limited memory."""
    prepare, utterance = pickle.load(sys.stdin.buffer)
    limit_memory()
    try:
        prepare(utterance)
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY_CODE)


def limit_memory() -> None:
    """Limit the address space of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


if __name__ == "__main__":
    main()
