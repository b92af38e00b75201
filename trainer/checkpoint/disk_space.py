"""Room for a run's checkpoints on its disk, which is looked for before the first step."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np

from shared.errors import UserError
from trainer.checkpoint.checkpoint import NamedVariables


def check_disk_space(run: Path, state: NamedVariables, *, max_to_keep: int) -> str:
    """What the checkpoints of a run take, in words.

    Raises:
        UserError: `max_to_keep` of them, the best one and the one that is being written do not fit.
    """
    size_bytes = sum(math.prod(variable.shape) * np.dtype(variable.dtype).itemsize for variable in state.values())
    files = max_to_keep + 2
    free_bytes = shutil.disk_usage(run).free + _held_bytes(run / "checkpoints")
    needed = (
        f"a checkpoint takes {_size(size_bytes)}, and up to {files} of them (kept_checkpoints={max_to_keep}, the best "
        f"and the one that is being written) {_size(files * size_bytes)}"
    )
    if files * size_bytes > free_bytes:
        raise UserError(
            f"{run}: {needed}, of which there are {_size(free_bytes)}; make room, or lower kept_checkpoints"
        )
    return needed


def _held_bytes(folder: Path) -> int:
    """What is in a folder, a file of two names being one."""
    found = [path.stat() for path in folder.iterdir()] if folder.is_dir() else []
    return sum({(one.st_dev, one.st_ino): one.st_size for one in found}.values())


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"
