"""The files of an evaluation of speech: a line for each clip, the summary, and a page to listen to."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from shared.errors import writing
from shared.files import write_bytes, write_json
from trainer.evaluation.eval_clips import Row
from trainer.evaluation.group_figures import Figures, summarise_groups
from trainer.monitoring.data_uris import audio_uri, image_uri
from trainer.monitoring.html_report import load_template
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.samples import as_int16
from trainer.tools.evaluate_speech import EvaluatedClip


class Shown(NamedTuple):
    """Clips for the page."""

    worst: list[EvaluatedClip]  # worst first
    others: list[EvaluatedClip]


def write_clips(
    clips: Iterable[EvaluatedClip], *, total: int, out: Path, shown: int = 10
) -> tuple[dict[str, dict[str, Figures]], Shown]:
    """Write the line of each clip as it comes, with a progress bar; return the figures and the clips for the page.

    Args:
        shown: number of the worst clips on the page, and of the other clips, which are taken by name.

    Raises:
        UserError: the folder cannot be written.
    """
    rows: list[Row] = []
    worst: list[tuple[tuple[float, ...], int, EvaluatedClip]] = []
    others: list[EvaluatedClip] = []
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        with (out / "clips.jsonl").open("w", encoding="utf-8", buffering=1) as file:
            bar = Progress(console=Console(stderr=True), transient=True)
            with bar:
                for one in bar.track(clips, total=total, description="clips"):
                    file.write(json.dumps(one.row, ensure_ascii=False) + "\n")
                    rows.append(one.row)
                    heapq.heappush(worst, (one.badness, len(rows), one))
                    if len(worst) > shown:
                        others.append(heapq.heappop(worst)[2])
                        others = heapq.nsmallest(shown, others, key=lambda clip: clip.clip.utterance_id)
    return summarise_groups(rows), Shown([one for _, _, one in sorted(worst, reverse=True)], others)


# the rows of the tables: name, the speech's figure, the recordings' figure (None: 0 or 1 by definition), unit
ROWS: tuple[tuple[str, str, str | None, str], ...] = (
    ("word errors", "word_error_rate", "recording_word_error_rate", "%"),
    ("character errors", "character_error_rate", "recording_character_error_rate", "%"),
    ("mel cepstral distance", "mel_cepstral_distance_db", None, "dB"),
    ("pitch: RMS difference", "f0_rms_cents", None, "cents"),
    ("pitch: shift", "f0_shift_cents", None, "cents"),
    ("voicing errors", "voicing_error", None, "%"),
    ("duration over the recording's", "duration_ratio", None, ""),
    ("duration: relative error", "duration_error", None, "%"),
    ("speaker similarity, own encoder", "speaker_similarity_own", "recording_similarity_own", "cosine"),
    ("speaker similarity, Resemblyzer", "speaker_similarity_resemblyzer", "recording_similarity_resemblyzer", "cosine"),
    ("failures to stop per 1,000", "stop_failures_per_1000", None, ""),
    ("reported as implausible per 1,000", "reported_per_1000", None, ""),
    ("real-time factor", "real_time_factor", None, ""),
)
NOTHING = "–"
MAX_GROUPS = 50  # on the page


def format_figure(value: float | None, *, unit: str) -> str:
    """A figure for people; a dash for one that was not measured."""
    if value is None:
        return NOTHING
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit == "cents":
        return f"{value:.0f} cents"
    return f"{value:.3f}" if unit == "cosine" else f"{value:.2f} {unit}".strip()


def figure_rows(figures: Figures) -> list[tuple[str, str, str]]:
    """Name, figure of the speech and figure of the recordings, of what was measured."""
    return [
        (
            name,
            format_figure(figures[key], unit=unit),
            NOTHING if own is None else format_figure(figures.get(own), unit=unit),
        )
        for name, key, own, unit in ROWS
        if figures.get(key) is not None
    ]


def figures_table(figures: Figures, *, title: str) -> Table:
    """The figures of all clips for the terminal."""
    table = Table("measure", "speech", "recordings", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in figure_rows(figures):
        table.add_row(*row)
    return table


class Facts(NamedTuple):
    """What was evaluated, for summary and page."""

    run: str
    checkpoint: str
    data: str
    split: str
    listener: str


def write_report(groups: dict[str, dict[str, Figures]], shown: Shown, *, facts: Facts, rate_hz: int, out: Path) -> None:
    """Write summary.json and index.html.

    Raises:
        UserError: the folder cannot be written.
    """
    names = {"language": len(groups["language"]) > 1, "speaker": len(groups["speaker"]) > 1}
    page = load_template("speech_evaluation.html.j2").render(
        facts=facts,
        clips=groups["all"]["all"]["clips"],
        rows=figure_rows(groups["all"]["all"]),
        groups={key: group_table(groups[key]) for key, is_shown in names.items() if is_shown},
        worst=[_clip(one, rate_hz=rate_hz) for one in shown.worst],
        others=[_clip(one, rate_hz=rate_hz) for one in shown.others],
    )
    with writing(out):
        write_json(out / "summary.json", {**facts._asdict(), **groups})
        write_bytes(out / "index.html", page.encode())


class GroupTable(NamedTuple):
    """The figures of the speech of languages or speakers."""

    header: list[str]
    rows: list[tuple[str, int, list[str]]]  # name, clips, figures
    hidden: int  # groups that are left out


def group_table(groups: dict[str, Figures]) -> GroupTable:
    """A row for each group, those with the most clips first; a column for each measure that a group has."""
    columns = [row for row in ROWS if any(one.get(row[1]) is not None for one in groups.values())]
    ordered = sorted(groups.items(), key=lambda item: -item[1]["clips"])
    rows = [
        (name, one["clips"], [format_figure(one.get(key), unit=unit) for _, key, _, unit in columns])
        for name, one in ordered[:MAX_GROUPS]
    ]
    return GroupTable([row[0] for row in columns], rows, hidden=max(0, len(groups) - MAX_GROUPS))


def _clip(one: EvaluatedClip, *, rate_hz: int) -> dict[str, Any]:
    return {
        "row": one.row,
        "facts": _clip_facts(one.row),
        "mels": image_uri(mel_comparison_image(one.recording.mel, one.spoken.mel)),
        "alignment": image_uri(alignment_image(one.alignment)),
        "recording": audio_uri(as_int16(one.recording.samples), rate_hz=rate_hz),
        "speech": audio_uri(as_int16(one.spoken.samples), rate_hz=rate_hz),
    }


def _clip_facts(row: Row) -> list[str]:
    """What was measured about a clip, in words."""
    facts = [
        f"{name} {format_figure(row[key], unit=unit)}"
        for name, key, unit in (
            ("distance", "mel_cepstral_distance_db", "dB"),
            ("pitch", "f0_rms_cents", "cents"),
            ("duration ×", "duration_ratio", ""),
            ("similarity", "speaker_similarity_own", "cosine"),
        )
        if row.get(key) is not None
    ]
    if row["character_errors"] is not None:
        facts.insert(0, f"{row['character_errors']} of {row['characters']} characters wrong")
    return facts
