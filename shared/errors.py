"""`UserError`, a mistake that the user can fix; the command lines print it and exit with code 2."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class UserError(Exception):
    """A mistake that the user can fix, in one line: where, what is wrong, what was expected, what to do next."""


def cwd_hint(path: str | Path) -> str:
    """Hint for "no such file": the directory against which a relative path was resolved; empty for other paths."""
    if Path(path).is_absolute():
        return ""
    return f" (from {Path.cwd()}; a dataset's relative paths are from the folder that its build was given in)"


@contextlib.contextmanager
def writing(path: str | Path, *, advice: str = "") -> Iterator[None]:
    """Raise an OSError of the body as the UserError that `path` cannot be written; `advice` says what to do next."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}){f'; {advice}' if advice else ''}") from error
