"""Processes that tests begin, none of which outlives them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BUILD_S = 1800

_BEGUN: list[subprocess.Popen[str]] = []
_ENVIRONMENT = dict(os.environ)  # as it is before any test changes it for itself


class Said(NamedTuple):
    """By a process that came to its end."""

    code: int
    out: str
    err: str


def begin(
    words: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """A process that takes what others leave, with these variables in place of those of the same name."""
    process = subprocess.Popen(
        ["nice", "-n", "5", *words],
        cwd=ROOT,
        env={**_ENVIRONMENT, **(environment or {})},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _BEGUN.append(process)
    return process


def end(process: subprocess.Popen[str], *, within_s: float) -> Said:
    """What it says until its end."""
    out, err = process.communicate(timeout=within_s)
    return Said(process.returncode, out, err)


def program(name: str) -> Path:
    """A console command of this environment."""
    return Path(sys.executable).with_name(name)


def build_sample(folder: Path, *overrides: str) -> Path:
    """The sample corpus, built."""
    words = [program("myxtts-data"), "build", "configs/preprocess_sample.yaml", *overrides, "--data", folder]
    ended = end(begin(words), within_s=BUILD_S)
    assert ended.code == 0, ended.err
    return folder


def kill_all() -> None:
    """Whatever still goes on."""
    for process in _BEGUN:
        process.kill()
