"""The folder of what this project keeps for a user: compiled programs, and copies of datasets."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache_folder() -> Path:
    """`XDG_CACHE_HOME/myxtts`, or `~/.cache/myxtts`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myxtts"
