"""What a user did wrong, said in one line; the command lines turn it into exit code 2."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """A mistake that the user can mend: what, where, what was wanted, what to do next, in one line."""


def cwd_hint(path: str | Path) -> str:
    """What to say behind a path that leads nowhere: of a relative one, from where."""
    if Path(path).is_absolute():
        return ""
    return f" (from {Path.cwd()}; a dataset's relative paths are from the folder that its build was given in)"
