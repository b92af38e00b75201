"""What is not the same in two makings of a shard, by utterance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pydantic

from shared.layout import Layout
from shared.tables import CORPUS_COLUMNS, read_table

KEPT, WITHHELD, REJECTED = "kept", "withheld", "rejected"
_PLACE = {"split", "shard", "index", "offset_bytes", "length_bytes", *CORPUS_COLUMNS}


class Difference(pydantic.BaseModel):
    """One utterance that is not what it was; or a shard, where that is all that can be said."""

    model_config = pydantic.ConfigDict(frozen=True)

    stem: str
    utterance_id: str | None
    message: str
    is_verdict: bool = False  # its record is what it was; only whether it is kept is not


def differences(stem: str, *, older: Layout, newer: Layout) -> Iterator[Difference]:
    """By utterance, from the tables of two datasets that both hold the shard."""
    before, after = _states(stem, layout=older), _states(stem, layout=newer)
    for name in sorted(before.keys() | after.keys()):
        was, is_now = before.get(name), after.get(name)
        if was == is_now:
            continue
        is_verdict = was is not None and is_now is not None and was[1] == is_now[1]
        yield Difference(stem=stem, utterance_id=name, message=_message(was, is_now), is_verdict=is_verdict)


State = tuple[str, dict[str, Any]]  # kept, withheld or rejected, and its row


def _states(stem: str, *, layout: Layout) -> dict[str, State]:
    states: dict[str, State] = {}
    for state, path in (
        (REJECTED, layout.rejected(stem)),
        (WITHHELD, layout.withheld_manifest(stem)),
        (KEPT, layout.manifest(stem)),
    ):
        for row in read_table(path).to_pylist():
            facts = {name: value for name, value in row.items() if name not in _PLACE}
            states[row["utterance_id"]] = (state, facts)
    return states


def _message(was: State | None, is_now: State | None) -> str:
    if was is None:
        assert is_now is not None
        return f"it is new, and {is_now[0]}"
    if is_now is None:
        return f"it was {was[0]}, and is gone"
    if was[0] != is_now[0]:
        reason = is_now[1].get("message") or was[1].get("message") or ""
        return f"it was {was[0]}, and is {is_now[0]}" + (f" ({reason})" if reason else "")
    changed = [name for name in was[1] if was[1][name] != is_now[1].get(name)]
    return "; ".join(f"{name} was {was[1][name]!r}, is {is_now[1].get(name)!r}" for name in changed[:3])
