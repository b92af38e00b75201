"""Phrases that messages share."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(names: Sequence[str], *, most: int, separator: str = ", ") -> str:
    """The first `most` names, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def counted(number: int, noun: str) -> str:
    """A number of things: "1 shard", "1,234 shards"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
