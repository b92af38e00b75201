"""Makes recordings fail as their content says, in every Python process with this folder in PYTHONPATH.

A file with "!segfault" ends the process that reads it, and so on: see `FAULTS`. A test's corpus has such files. Nothing
is imported sooner than the process imports it.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))
from tests.changed_imports import change_on_import

LIMIT_S = 3.0  # in the place of minutes
_IS_ALONE = "preprocess.isolated" in sys.orig_argv
_attempts: dict[str, int] = {}


def _die(path: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _die_in_a_worker(path: str) -> None:
    if not _IS_ALONE:
        os.kill(os.getpid(), signal.SIGKILL)


def _hang(path: str) -> None:
    time.sleep(3600)


def _exhaust_memory(path: str) -> None:
    raise MemoryError


def _fail_to_read(path: str) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO), path)


def _fail_to_read_twice(path: str) -> None:
    _attempts[path] = _attempts.get(path, 0) + 1
    if _attempts[path] <= 2:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)


FAULTS = {
    b"!segfault": _die,
    b"!worker-only": _die_in_a_worker,
    b"!hang": _hang,
    b"!memory": _exhaust_memory,
    b"!eio": _fail_to_read,
    b"!estale-twice": _fail_to_read_twice,
}


def _break_reading(audio: Any) -> None:
    read = audio._read_audio_file
    audio.PAUSES_S = (0.01, 0.01, 0.01)

    def read_or_fail(path: str) -> bytes:
        data: bytes = read(path)
        for mark, fail in FAULTS.items():
            if mark in data[-64:]:
                fail(path)
        return data

    audio._read_audio_file = read_or_fail


def _shorten_the_limit(isolated: Any) -> None:
    isolated.MAX_PREPARATION_S = LIMIT_S


CHANGES = {"preprocess.audio": _break_reading, "preprocess.isolated": _shorten_the_limit}
if _IS_ALONE:  # the second one is the program itself
    del CHANGES["preprocess.isolated"]
change_on_import(CHANGES)
