"""The comparison on one page that needs nothing beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.compare import Comparison
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.drift import ALPHA, MIN_D, MIN_RECORDS, QUANTILES, Drift, Group, choose_groups
from pipelines.compare.histogram_overlay import Overlay, overlay
from pipelines.compare.terminal import describe_equality, drift_evidence, format_value, names_line
from pipelines.html.axes import VIEW_BOX
from pipelines.html.template import template_environment
from shared.dataset import DatasetInfo
from shared.errors import UserError
from shared.files import write_bytes

SHOWN_ROWS = 200
SHOWN_NAMES = 100
# Of the parts of a dataset that drifted, drawn besides the whole.
SHOWN_OVERLAYS = 15

GOOD, LOOK, BAD = "good", "look", "bad"


def write_page(comparison: Comparison, *, path: Path) -> None:
    """Write it.

    Raises:
        UserError: the file cannot be written.
    """
    environment = template_environment("pipelines.compare")
    environment.filters["shown"] = format_value
    page = environment.get_template("compare.html.j2").render(**facts(comparison))
    try:
        write_bytes(path, page.encode("utf-8", "replace"), durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; wanted a file that can be written (--out)") from error


def facts(comparison: Comparison) -> dict[str, Any]:
    """What the template names."""
    level, sentence = verdict(comparison)
    return {
        "comparison": comparison,
        "sides": [(name, side) for name, side in (("A", comparison.a), ("B", comparison.b))],
        "names": [side.layout.root.absolute().name for side in (comparison.a, comparison.b)],
        "level": level,
        "sentence": sentence,
        "kinds": [(kind, comparison.changes[kind.name]) for kind in CHANGE_KINDS if len(comparison.changes[kind.name])],
        "counts": {kind.name: len(comparison.changes[kind.name]) for kind in CHANGE_KINDS},
        "records": [records_of(side.info) for side in (comparison.a, comparison.b)],
        "lists": [(one, names_line(one)) for one in comparison.names if one.differ],
        "overlays": overlays(comparison),
        "significant": comparison.significant,
        "evidence": drift_evidence,
        "view": VIEW_BOX,
        "quantiles": QUANTILES,
        "rule": {"alpha": ALPHA, "min_d": MIN_D, "min_records": MIN_RECORDS},
        "shown_rows": SHOWN_ROWS,
        "shown_names": SHOWN_NAMES,
    }


def records_of(info: DatasetInfo) -> int:
    """Records in the shards."""
    return sum(shard.records for shard in info.shards)


def verdict(comparison: Comparison) -> tuple[str, str]:
    """How the page begins."""
    if comparison.are_equal:
        return GOOD, f"The two are {describe_equality(comparison)}"
    if damaged := len(comparison.changes["damaged"]):
        return BAD, f"{damaged} records cannot be read: validate both"
    if drifts := len(comparison.significant):
        return LOOK, f"They differ, and {drifts} distribution{'s have' if drifts > 1 else ' has'} drifted"
    return GOOD, "They differ, and no distribution has drifted"


def overlays(comparison: Comparison) -> list[Overlay]:
    """The whole, then the parts that drifted, the largest D first."""
    samples = comparison.samples
    if samples is None:
        return []
    groups = {(group.source, group.language): group for group in choose_groups(samples)}
    parts = [drift for drift in comparison.significant if drift.source][:SHOWN_OVERLAYS]
    shown = [*(drift for drift in comparison.drifts if not drift.source), *parts]

    def draw(drift: Drift, group: Group) -> Overlay:
        return overlay(*samples.values(drift.measure, group), drift=drift)

    return [draw(drift, groups[drift.source, drift.language]) for drift in shown]
