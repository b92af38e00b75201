"""Makes recordings fail as their content says, in every Python process with this folder in PYTHONPATH.

A file with "!segfault" ends the process that reads it, and so on: see `FAULTS`. A test's corpus has such files. Nothing
is imported sooner than the process imports it.
"""

from __future__ import annotations

import errno
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any

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


class _ChangedLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader):
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        CHANGES[module.__name__](module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in CHANGES or (_IS_ALONE and name == "preprocess.isolated"):  # it is the program there
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _ChangedLoader(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
