"""What was read of a text, for people who check it."""

from __future__ import annotations

from typing import NamedTuple


class Reading(NamedTuple):
    """A part of a text that was written in words."""

    written: str
    words: str
    kind: str  # cardinal, ordinal, money, time, abbreviation, ...
