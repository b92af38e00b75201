"""Checks that optional packages are installed before a long run needs them."""

from __future__ import annotations

import importlib.util

from shared.errors import UserError


def check_packages(*packages: str) -> None:
    """Raises UserError if a package is not installed."""
    absent = [name.replace("_", "-") for name in packages if importlib.util.find_spec(name) is None]
    if absent:
        raise UserError(f"{' and '.join(absent)} not installed; pip install {' '.join(absent)}")
