"""Checks of a machine's set-up (`doctor`): each gives one line, with what was found or what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError


class Check(NamedTuple):
    """The result of one check; `trouble` says what to do, and is empty if all is well."""

    name: str
    found: str
    trouble: str = ""

    def __str__(self) -> str:
        return f"{'  ' if self.trouble else 'ok'} {self.name:14} {self.trouble or self.found}"


def run_check(name: str, check: Callable[[], str]) -> Check:
    """Run a check: `check` returns what it found, or raises UserError, which becomes the trouble."""
    try:
        return Check(name, check())
    except UserError as error:
        return Check(name, "", trouble=str(error))


def free_space(folder: Path, *, required_gib: float, variable: str) -> str:
    """The free disk space at a folder that may not exist yet; `variable` is make's variable for the folder.

    Raises:
        UserError: there is too little space, or the folder cannot be written to or examined.
    """
    try:
        existing = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
        free_gib = shutil.disk_usage(existing).free / 2**30
    except OSError as error:
        expected = f"expected a folder of yours: {variable}="
        raise UserError(f"{folder} cannot be examined ({error.strerror}); {expected}") from error
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{existing} cannot be written to; expected a folder of yours: {variable}=")
    if free_gib < required_gib:
        raise UserError(
            f"{free_gib:.1f} GiB free at {existing}; expected {required_gib:g} or more; make room, or {variable}="
        )
    return f"{free_gib:.0f} GiB free at {existing}"
