"""The comparison as terminal output: settings, counts with a few examples, drift, and what the exit code means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipelines.compare import Comparison
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.drift import Drift
from pipelines.compare.settings import CONTRACT, NameDifferences
from pipelines.html.numbers import format_number, format_signed
from shared.messages import first_few

SHOWN = 3
SHOWN_SETTINGS = 12
MAX_CHARACTERS = 60
_SHA256 = re.compile("[0-9a-f]{64}")
# Kinds that mostly follow from other changes: only their number is shown.
COUNTED = ("path", "record", "measures")
DIFFERENT = "The datasets differ: exit code 1 (0: equal, 1: different, 2: error). make shows it as `Error 1`."


def comparison_summary(comparison: Comparison) -> str:
    """One line per kind of difference, with examples below it."""
    a, b = comparison.a.layout.root, comparison.b.layout.root
    if comparison.are_equal:
        return f"{a} and {b}: {describe_equality(comparison)}"
    return "\n".join([f"A {a}", f"B {b}", contract_line(comparison), *_lines(comparison)])


def describe_equality(comparison: Comparison) -> str:
    """How the two are equal: byte for byte, or in content only."""
    records = sum(shard.records for shard in comparison.a.info.shards)
    count = f"{len(comparison.a.info.shards)} shards, {records} records"
    if comparison.are_identical:
        return f"equal, every shard and table byte for byte by its sha256 in dataset.json ({count})"
    return f"equal in content, but not byte for byte ({count})"


def contract_line(comparison: Comparison) -> str:
    """Whether the contracts are equal, and if not, by which fields."""
    fields = [one.field.removeprefix(CONTRACT) for one in comparison.settings if one.field.startswith(CONTRACT)]
    if not fields:
        return "same contract: the two can be trained on together"
    return f"contracts differ in {', '.join(fields)}: the two cannot be trained on together"


def _lines(comparison: Comparison) -> Iterator[str]:
    # the fields of the contract come first: they decide whether the two can be combined
    settings = sorted(comparison.settings, key=lambda one: not one.field.startswith(CONTRACT))
    for one in settings[:SHOWN_SETTINGS]:
        yield f"  {one.field}: {truncate(one.a)} → {truncate(one.b)}"
    if len(settings) > SHOWN_SETTINGS:
        yield f"  … and {len(settings) - SHOWN_SETTINGS} more fields"
    yield from (f"  {names_line(one)}" for one in comparison.names if one.differ)
    for kind in CHANGE_KINDS:
        table = comparison.changes[kind.name]
        if len(table):
            yield f"{len(table):8} {kind.title}"
            examples = 0 if kind.name in COUNTED else SHOWN
            yield from (f"           {describe_change(row)}" for row in table.slice(0, examples).to_pylist())
            if examples and len(table) > examples:
                yield f"           … and {len(table) - examples} more"
    for drift in comparison.significant:
        yield f"   drift {drift_line(drift)}"
    if comparison.drifts and not comparison.significant:
        yield f"no significant drift in {len(comparison.drifts)} distributions"


def names_line(names: NameDifferences) -> str:
    """How many names were removed, added and changed, with the first few."""
    parts = [
        f"{len(found)} {word} ({first_few([*map(truncate, found)], most=SHOWN)})"
        for word, found in (("removed", names.removed), ("added", names.added))
        if found
    ]
    parts += [f"{len(names.changed)} with another number of records"] if names.changed else []
    return f"{names.kind}: {', '.join(parts)}"


def drift_line(drift: Drift) -> str:
    """The measurement that drifted, by how much, and the evidence."""
    shift = f"{format_signed(drift.shift)} {drift.measure.unit}"
    return f"{drift.measure.title} of {drift.group}: {shift} ({drift_evidence(drift)})"


def drift_evidence(drift: Drift) -> str:
    """D, p, and the number of shared utterances that changed."""
    text, shared = f"D {drift.statistic:.3f}, p {drift.p_value:.1g}", drift.shared
    return f"{text}; {shared.changed} of {shared.utterances} shared utterances changed" if shared else text


def describe_change(row: dict[str, Any]) -> str:
    """The change of one utterance as a line: `column before → after` for every column that differs."""
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
    """A value as text; a sha256 is cut to its first 12 digits."""
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return f"{value[:12]}…"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) or "–"


def truncate(text: str) -> str:
    """Shorten a long text in the middle: the start of a hash and the end of a path matter most."""
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS // 2]}…{text[-MAX_CHARACTERS // 2 :]}"
