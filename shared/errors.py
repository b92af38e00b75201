"""`UserError`, a mistake that the user can fix; the command lines print it and exit with code 2."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """A mistake that the user can fix, in one line: where, what is wrong, what was expected, what to do next."""


def cwd_hint(path: str | Path) -> str:
    """Hint for "no such file": the directory against which a relative path was resolved; empty for other paths."""
    if Path(path).is_absolute():
        return ""
    return f" (from {Path.cwd()}; a dataset's relative paths are from the folder that its build was given in)"
