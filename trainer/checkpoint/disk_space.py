"""Check before training that a run's checkpoints fit on its disk."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np

from shared.errors import UserError
from trainer.checkpoint.checkpoint import NamedVariables


def check_disk_space(run: Path, variables: NamedVariables, *, max_to_keep: int) -> str:
    """Check that the kept checkpoints, the best one and the one being written fit on the disk.

    Returns:
        A line for the log with the space that they need.

    Raises:
        UserError: they do not fit.
    """
    size_bytes = sum(math.prod(variable.shape) * np.dtype(variable.dtype).itemsize for variable in variables.values())
    files = max_to_keep + 2
    free_bytes = shutil.disk_usage(run).free + _used_bytes(run / "checkpoints")
    needed = (
        f"a checkpoint takes {_format_size(size_bytes)}, and up to {files} of them "
        f"(kept_checkpoints={max_to_keep}, the best and the one being written) {_format_size(files * size_bytes)}"
    )
    if files * size_bytes > free_bytes:
        raise UserError(
            f"{run}: {needed}, but only {_format_size(free_bytes)} are free; free disk space, or lower kept_checkpoints"
        )
    return needed


def _used_bytes(folder: Path) -> int:
    """Return the size of a folder's files; a file with two names counts once."""
    found = [path.stat() for path in folder.iterdir()] if folder.is_dir() else []
    return sum({(one.st_dev, one.st_ino): one.st_size for one in found}.values())


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"
