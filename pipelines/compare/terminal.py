"""What the terminal shows of a comparison: counts, and the first few of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipelines.compare import Comparison
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.drift import Drift
from pipelines.compare.settings import NameDifferences
from pipelines.html.numbers import format_number, format_signed

SHOWN = 3
SHOWN_SETTINGS = 12
MAX_CHARACTERS = 60
_SUM = re.compile("[0-9a-f]{64}")
# What mostly follows from other changes is counted only.
COUNTED = ("path", "record", "measures")


def comparison_summary(comparison: Comparison) -> str:
    """One line for each kind of difference, and examples below it."""
    a, b = comparison.a.layout.root, comparison.b.layout.root
    if comparison.are_equal:
        return f"{a} and {b}: {describe_equality(comparison)}"
    return "\n".join([f"A {a}", f"B {b}", *_lines(comparison)])


def describe_equality(comparison: Comparison) -> str:
    """In which way the two are equal; what is not read here is what their sums say."""
    records = sum(shard.records for shard in comparison.a.info.shards)
    count = f"{len(comparison.a.info.shards)} shards, {records} records"
    if comparison.are_identical:
        return f"equal, every shard and table byte for byte by its sha256 in dataset.json ({count})"
    return f"equal in all that they say, in other bytes ({count})"


def _lines(comparison: Comparison) -> Iterator[str]:
    for one in comparison.settings[:SHOWN_SETTINGS]:
        yield f"  {one.field}: {truncate(one.a)} → {truncate(one.b)}"
    if len(comparison.settings) > SHOWN_SETTINGS:
        yield f"  … and {len(comparison.settings) - SHOWN_SETTINGS} more fields"
    yield from (f"  {names_line(one)}" for one in comparison.names if one.differ)
    for kind in CHANGE_KINDS:
        table = comparison.changes[kind.name]
        if len(table):
            yield f"{len(table):8} {kind.title}"
            examples = 0 if kind.name in COUNTED else SHOWN
            yield from (f"           {describe_change(row)}" for row in table.slice(0, examples).to_pylist())
    for drift in comparison.significant:
        yield f"   drift {drift_line(drift)}"
    if comparison.drifts and not comparison.significant:
        yield f"no drift worth a look in {len(comparison.drifts)} distributions"


def names_line(names: NameDifferences) -> str:
    """How many came, went and changed, and the first few."""
    parts = [
        f"{len(found)} {word} ({', '.join(map(truncate, found[:SHOWN]))}{', …' if len(found) > SHOWN else ''})"
        for word, found in (("removed", names.removed), ("added", names.added))
        if found
    ]
    parts += [f"{len(names.changed)} with another number of records"] if names.changed else []
    return f"{names.kind}: {', '.join(parts)}"


def drift_line(drift: Drift) -> str:
    """What moved, by how much, and how sure that is."""
    shift = f"{format_signed(drift.shift)} {drift.measure.unit}"
    return f"{drift.measure.title} of {drift.group}: {shift} ({drift_evidence(drift)})"


def drift_evidence(drift: Drift) -> str:
    """What a drift is told by."""
    text, shared = f"D {drift.statistic:.3f}, p {drift.p_value:.1g}", drift.shared
    return f"{text}; {shared.changed} of {shared.utterances} shared utterances changed" if shared else text


def describe_change(row: dict[str, Any]) -> str:
    """One utterance's change on a line."""
    facts = dict(row)
    name = facts.pop("utterance_id")
    parts, done = [], set[str]()
    for column, value in facts.items():
        stem = column[:-2]
        if column.endswith("_a") and f"{stem}_b" in facts:
            if value != facts[f"{stem}_b"] or stem in ("frames", "tokens"):
                parts.append(f"{stem} {truncate(format_value(value))} → {truncate(format_value(facts[f'{stem}_b']))}")
            done |= {column, f"{stem}_b"}
        elif column not in done and value not in (None, ""):
            parts.append(f"{column} {truncate(format_value(value))}")
    return f"{name}: {', '.join(parts)}"


def format_value(value: Any) -> str:
    """A value as text; of a sum the start tells it from others."""
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, str) and _SUM.fullmatch(value):
        return f"{value[:12]}…"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) or "–"


def truncate(text: str) -> str:
    """No more than fits a line; of a long path or sum the end and the start tell most."""
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS // 2]}…{text[-MAX_CHARACTERS // 2 :]}"
