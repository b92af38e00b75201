"""Runs `myxtts-data` in forks of one process and kills each with SIGKILL at a chosen change of the file system.

The changes below the dataset are counted: files opened for writing, renamed, linked or removed, folders made or
removed. A kill comes immediately before the change of the given number, so that the moment of the kill depends on no
clock.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipelines.validation.mel_sums import MelSums

CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir"}
# the number of changes of these depends on time: the progress bar, and the lock's content
UNCOUNTED = ("/progress", "/.lock")


IMPORTED_ONCE = (
    "pipelines.build.build_dataset",
    "pipelines.repair.repair",
    "pipelines.repair.replay",
    "pipelines.report",
    "pipelines.job_summaries",
)


class Ended(NamedTuple):
    """The end of one command."""

    code: int  # exit code, or the negative number of the signal that ended it
    changes: list[str]  # the changed files, relative to the dataset, in order


class Commands:
    """A process that has imported the commands and forks for each of them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *words: str, data: Path, kill_before: int | None = None, start: str = "") -> Ended:
        """Run a command to its end, or kill it before a change of a file below `data`.

        Args:
            kill_before: number of the change, from 0.
            start: name of a file below `data`; its first change has the number 0. By default the first change of all.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([words, f"{data}/", start, kill_before]), file=self._process.stdin, flush=True)
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


def _watch(data: str, *, start: str, kill_before: int | None, report: Callable[[str], object]) -> None:
    count = 0  # changes from `start` on

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            name, _, flags = arguments
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event in CHANGES:
            name = arguments[1] if event in ("os.rename", "os.link") else arguments[0]
        else:
            return
        path = os.fspath(name) if isinstance(name, str | os.PathLike) else ""
        if not isinstance(path, str) or not path.startswith(data) or any(part in path for part in UNCOUNTED):
            return
        name = path.removeprefix(data)
        if count or name == start or not start:
            count += 1
        if kill_before is not None and count == kill_before + 1:
            os.kill(os.getpid(), signal.SIGKILL)
        report(name)

    sys.addaudithook(hook)


def _child(words: list[str], *, data: str, start: str, kill_before: int | None, pipe: int) -> None:
    from pipelines.cli import main

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.argv = ["myxtts-data", *words]
    _watch(data, start=start, kill_before=kill_before, report=lambda path: os.write(pipe, f"{path}\n".encode()))
    main()


def _serve() -> None:
    """Read commands from stdin and write the end of each to stdout, a line each."""
    for name in IMPORTED_ONCE:
        importlib.import_module(name)
    for buffer in (bytes(160), bytearray(160)):  # compiled once, not in each fork
        MelSums(n_mels=80, mel_dtype="float16", low=-20.0, high=5.0).add(np.frombuffer(buffer, np.uint8), frames=1)
    for line in sys.stdin:
        words, data, start, kill_before = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            code = 70
            try:
                _child(words, data=data, start=start, kill_before=kill_before, pipe=write)
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            finally:
                os._exit(code)
        os.close(write)
        with os.fdopen(read) as changes:
            names = changes.read().splitlines()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, names]), flush=True)


if __name__ == "__main__":
    _serve()
