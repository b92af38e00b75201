"""Runs the console commands in this process, because importing Beam or TensorFlow again takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def runner(
    main: Callable[[], None], *, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Return a function that runs a command with the given arguments."""

    def run(*words: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return Outcome(code, *capsys.readouterr())

    return run
