"""The comparison as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.compare import Comparison
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.drift import ALPHA, MIN_D, MIN_RECORDS, QUANTILES, Drift, Group, choose_groups
from pipelines.compare.histogram_overlay import Overlay, draw_overlay
from pipelines.compare.listening import clip_pairs
from pipelines.compare.terminal import contract_line, describe_equality, drift_evidence, format_value, names_line
from pipelines.html.axes import VIEW_BOX
from pipelines.html.clips import magnitude_range
from pipelines.html.media import frequency_ticks, mel_data_uri
from pipelines.html.template import inline_script, template_environment
from shared.dataset import DatasetInfo
from shared.errors import UserError
from shared.files import write_bytes

SHOWN_ROWS = 200
SHOWN_NAMES = 100
# Sources and languages that are drawn besides the whole dataset.
SHOWN_OVERLAYS = 15

OK, UNKNOWN, WARNING, ERROR = "ok", "unknown", "warning", "error"


def write_page(comparison: Comparison, *, path: Path) -> None:
    """Write the page.

    Raises:
        UserError: the file cannot be written.
    """
    environment = template_environment("pipelines.compare")
    environment.filters["shown"] = format_value
    script, sha256 = inline_script(environment, "player.js")
    template = environment.get_template("compare.html.j2")
    page = template.render(**template_context(comparison), script=script, script_sha256=sha256)
    try:
        write_bytes(path, page.encode("utf-8", "replace"), durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; expected a file that can be written; change --out") from error


def template_context(comparison: Comparison) -> dict[str, Any]:
    """The variables of the template."""
    sides = (comparison.a, comparison.b)
    level, sentence = assess_comparison(comparison)
    pairs = clip_pairs(*sides, comparison.changes)
    low, high = magnitude_range([clip for pair in pairs for clip in pair.clips])
    return {
        "comparison": comparison,
        "sides": list(zip(("A", "B"), sides, strict=True)),
        "names": [side.layout.root.absolute().name for side in sides],
        "level": level,
        "sentence": sentence,
        "contract_line": contract_line(comparison),
        "kinds": [(kind, comparison.changes[kind.name]) for kind in CHANGE_KINDS if len(comparison.changes[kind.name])],
        "counts": {kind.name: len(comparison.changes[kind.name]) for kind in CHANGE_KINDS},
        "records": [records_of(side.info) for side in sides],
        "lists": [(one, names_line(one)) for one in comparison.names if one.differ],
        "pairs": pairs,
        "mel_image": lambda mel: mel_data_uri(mel, low=low, high=high),
        "frequency_ticks": [frequency_ticks(side.info.contract.features) for side in sides],
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
    """The number of records in the shards."""
    return sum(shard.records for shard in info.shards)


def assess_comparison(comparison: Comparison) -> tuple[str, str]:
    """The level and the sentence at the head of the page."""
    if comparison.are_equal:
        return OK, f"The datasets are {describe_equality(comparison)}"
    if damaged := len(comparison.changes["damaged"]):
        return ERROR, f"{damaged} records cannot be read: validate both datasets"
    if drifts := len(comparison.significant):
        return WARNING, f"They differ, and {drifts} distribution{'s have' if drifts > 1 else ' has'} drifted"
    if not comparison.drifts:
        return UNKNOWN, "They differ; their distributions were not compared"
    return OK, "They differ, and no distribution has drifted"


def overlays(comparison: Comparison) -> list[Overlay]:
    """The whole datasets, then the sources and languages that drifted, the largest D first."""
    samples = comparison.samples
    if samples is None:
        return []
    groups = {(group.source, group.language): group for group in choose_groups(samples)}
    parts = [drift for drift in comparison.significant if drift.source][:SHOWN_OVERLAYS]
    shown = [*(drift for drift in comparison.drifts if not drift.source), *parts]

    def draw(drift: Drift, group: Group) -> Overlay:
        return draw_overlay(*samples.values(drift.measure, group), drift=drift)

    return [draw(drift, groups[drift.source, drift.language]) for drift in shown]
