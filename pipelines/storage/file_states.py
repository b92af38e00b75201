"""The state of files by which a change is noticed without reading them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from shared.storage_path import StoragePath


def state_of(paths: Iterable[StoragePath]) -> str:
    """Size, modification time and inode of each file; the text changes if a file is replaced, written or removed."""
    return " ".join(map(_state, paths))


def _state(path: StoragePath) -> str:
    try:
        if not isinstance(path, Path):
            state = path.stat()
            return f"{state.st_size}:{state.st_mtime}"
        state = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, five times a shard
    except (OSError, ValueError):  # ValueError: not a valid path, e.g. with a null byte
        return "absent"
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ino}"
