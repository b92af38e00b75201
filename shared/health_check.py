"""Whether a machine has what is needed, a line for each thing that was looked at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError


class Check(NamedTuple):
    """One line; `trouble` says what to do, empty where all is well."""

    name: str
    found: str
    trouble: str = ""

    def __str__(self) -> str:
        return f"{'  ' if self.trouble else 'ok'} {self.name:14} {self.trouble or self.found}"


def run_check(name: str, look: Callable[[], str]) -> Check:
    """What `look` found, or its UserError as trouble."""
    try:
        return Check(name, look())
    except UserError as error:
        return Check(name, "", trouble=str(error))


def free_space(folder: Path, *, required_gib: float, variable: str) -> str:
    """How much is free where a folder is to be; `variable` of make names another.

    Raises:
        UserError: too little, or it cannot be written to or looked at.
    """
    try:
        place = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
        free_gib = shutil.disk_usage(place).free / 2**30
    except OSError as error:
        wanted = f"wanted a folder of yours: {variable}="
        raise UserError(f"{folder} cannot be looked at ({error.strerror}); {wanted}") from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"{place} cannot be written to; wanted a folder of yours: {variable}=")
    if free_gib < required_gib:
        raise UserError(
            f"{free_gib:.1f} GiB free at {place}, wanted {required_gib:g} or more; make room, or {variable}="
        )
    return f"{free_gib:.0f} GiB free at {place}"
