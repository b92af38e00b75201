"""The differences between two versions of a shard, by utterance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pydantic

from shared.layout import Layout
from shared.tables import CORPUS_COLUMNS, MANIFEST, read_table
from shared.tables import REJECTED as REJECTED_ROWS

KEPT, FILTERED, REJECTED = "kept", "withheld", "rejected"
# columns that the other utterances of the dataset determine
_IGNORED = {"split", "shard", "index", "offset_bytes", "length_bytes", *CORPUS_COLUMNS}


class ShardDifference(pydantic.BaseModel):
    """One utterance that differs between the versions, or the whole shard if no utterance can be named."""

    model_config = pydantic.ConfigDict(frozen=True)

    shard_name: str
    utterance_id: str | None
    message: str
    is_filter_only: bool = False  # the record is the same; only the filter's result differs


def diff_shard(shard_name: str, *, older: Layout, newer: Layout) -> Iterator[ShardDifference]:
    """Compare the tables of two datasets that both hold the shard."""
    before, after = _states(shard_name, layout=older), _states(shard_name, layout=newer)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        is_filter_only = old is not None and new is not None and old[1] == new[1]
        yield ShardDifference(
            shard_name=shard_name, utterance_id=name, message=_message(old, new), is_filter_only=is_filter_only
        )


State = tuple[str, dict[str, Any]]  # KEPT, FILTERED or REJECTED, and the row


def _states(shard_name: str, *, layout: Layout) -> dict[str, State]:
    states: dict[str, State] = {}
    for state, path, schema in (
        (REJECTED, layout.rejected(shard_name), REJECTED_ROWS),
        (FILTERED, layout.withheld_manifest(shard_name), MANIFEST),
        (KEPT, layout.manifest(shard_name), MANIFEST),
    ):
        for row in read_table(path, schema=schema).to_pylist():
            values = {name: value for name, value in row.items() if name not in _IGNORED}
            states[row["utterance_id"]] = (state, values)
    return states


def _message(old: State | None, new: State | None) -> str:
    if old is None:
        assert new is not None
        return f"it is new, and {new[0]}"
    if new is None:
        return f"it was {old[0]}, and is gone"
    if old[0] != new[0]:
        reason = new[1].get("message") or old[1].get("message") or ""
        return f"it was {old[0]}, and is {new[0]}" + (f" ({reason})" if reason else "")
    changed = [name for name in old[1] if old[1][name] != new[1].get(name)]
    return "; ".join(f"{name} was {old[1][name]!r}, is {new[1].get(name)!r}" for name in changed[:3])
