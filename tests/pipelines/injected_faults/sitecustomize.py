"""Makes recordings fail as their content says, in every Python process with this folder in PYTHONPATH.

A file with "!segfault" ends the process that decodes it, and so on: see `DECODING_FAULTS`. A test's corpus has such
files. Nothing is imported sooner than the process imports it.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))
from tests.changed_imports import change_on_import

LIMIT_S = 15.0  # in the place of minutes; a busy machine takes seconds to start a process
_IS_ALONE = "preprocess.isolated" in sys.orig_argv
_attempts: dict[str, int] = {}


def _die(path: str) -> None:
    signal.raise_signal(signal.SIGSEGV)  # to this thread, as a decoder does; `os.kill` lets the thread go on meanwhile


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


READING_FAULTS = {b"!eio": _fail_to_read, b"!estale-twice": _fail_to_read_twice}
DECODING_FAULTS = {b"!segfault": _die, b"!worker-only": _die_in_a_worker, b"!hang": _hang, b"!memory": _exhaust_memory}


def _fail(data: bytes, *, faults: dict[bytes, Callable[[str], None]], path: str = "") -> None:
    for mark, fail in faults.items():
        if mark in data[-64:]:
            fail(path)


def _break_reading(audio_file: Any) -> None:
    read = audio_file._read_audio_file
    audio_file.PAUSES_S = (0.01, 0.01, 0.01)

    def read_or_fail(path: str) -> bytes:
        data: bytes = read(path)
        _fail(data, faults=READING_FAULTS, path=path)
        return data

    audio_file._read_audio_file = read_or_fail


def _break_decoding(audio: Any) -> None:
    decode = audio.decode_audio

    def decode_or_fail(data: bytes, **options: float) -> Any:
        _fail(data, faults=DECODING_FAULTS)
        return decode(data, **options)

    audio.decode_audio = decode_or_fail


def _shorten_the_limit(isolated: Any) -> None:
    isolated.MAX_PREPARATION_S = LIMIT_S


CHANGES = {
    "preprocess.audio_file": _break_reading,
    "preprocess.audio": _break_decoding,
    "preprocess.isolated": _shorten_the_limit,
}
if _IS_ALONE:  # the second one is the program itself
    del CHANGES["preprocess.isolated"]
change_on_import(CHANGES)
