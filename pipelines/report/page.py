"""The report as HTML: collects what the template shows and renders it."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipelines.html.axes import VIEW_BOX
from pipelines.html.clips import magnitude_range
from pipelines.html.media import colour_scale, frequency_ticks, mel_data_uri
from pipelines.html.template import inline_script, template_environment
from pipelines.report.assessment import Totals, assess_dataset, dataset_state, publication_time
from pipelines.report.clips import EXTRA_COLUMNS, WORST_PER_CHECK, make_gallery
from pipelines.report.distributions import SHOWN_LANGUAGES, histograms, rates_by_language
from pipelines.report.rejections import filtered_by_reason, rejection_totals
from pipelines.report.text_issues import repetition_totals, text_issues
from pipelines.report.totals import language_totals, source_totals, speaker_totals, split_totals
from pipelines.tables.columns import RECORD_COLUMNS, REJECTION_COLUMNS, DatasetRows, load_columns
from shared.dataset import Dataset, DatasetInfo

HOUR_S, MINUTE_S = 3600.0, 60.0
# Durations of a smaller dataset are shown in minutes.
MIN_IN_HOURS_S = 2 * HOUR_S
# Data attributes of a clip that the script sorts by, with the names of both directions.
SORT_COLUMNS = (
    ("duration", "shortest first", "longest first"),
    ("snr", "lowest SNR first", "highest SNR first"),
    ("level", "quietest first", "loudest first"),
    ("rate", "slowest first", "fastest first"),
    ("bandwidth", "narrowest band first", "widest band first"),
)


class Unit(NamedTuple):
    """The unit of all durations in one table."""

    name: str
    symbol: str
    seconds: float
    digits: int  # after the decimal point


def render(dataset: Dataset) -> str:
    """Render the whole page.

    Raises:
        UserError: a table cannot be read.
    """
    environment = template_environment("pipelines.report")
    script, sha256 = inline_script(environment, "player.js", "clip_search.js")
    template = environment.get_template("page.html.j2")
    return template.render(**template_context(dataset), script=script, script_sha256=sha256)


def template_context(dataset: Dataset) -> dict[str, Any]:
    """The variables of the template."""
    info, layout = dataset.info, dataset.layout
    stems = [shard.name for shard in info.shards]
    columns = (*RECORD_COLUMNS, *EXTRA_COLUMNS)
    kept = load_columns(stems, path_of=layout.manifest, columns=columns)
    filtered = load_columns(stems, path_of=layout.withheld_manifest, columns=columns)
    rejected = load_columns(stems, path_of=layout.rejected, columns=REJECTION_COLUMNS)
    totals = Totals(
        sources=source_totals(info, kept=kept),
        splits=split_totals(kept),
        languages=language_totals(kept, rejected=rejected),
        reasons=rejection_totals(rejected),
        texts=text_issues(kept, filtered=filtered),
        repetitions=repetition_totals(kept, filtered=filtered, copy_bits=copy_bits(info)),
    )
    speakers = speaker_totals(kept)
    codes = [row.code for row in totals.languages if row.records]
    seconds = sum(split.seconds for split in totals.splits)
    return {
        **totals._asdict(),
        "info": info,
        "state": dataset_state(dataset),
        "built": f"{publication_time(dataset):%Y-%m-%d %H:%M}",
        "root": str(layout.root.absolute()),
        "name": layout.root.absolute().name,
        "unit": choose_unit(seconds),
        "seconds": seconds,
        "assessment": assess_dataset(dataset, kept=kept, totals=totals),
        "speakers": speakers,
        "speaker_unit": choose_unit(max((row.seconds for row in speakers.shown), default=0.0)),
        "median_unit": choose_unit(speakers.median_s),
        "copy_bits": copy_bits(info),
        "histograms": histograms(info, kept=kept, filtered=filtered),
        "rates": rates_by_language(info, kept=kept, filtered=filtered, codes=codes),
        "view": VIEW_BOX,
        "other_languages": codes[SHOWN_LANGUAGES:],
        **_clips(dataset, kept=kept, filtered=filtered, rejected=rejected),
    }


def choose_unit(seconds: float) -> Unit:
    """Hours, or minutes for a small dataset; two decimals below 100, one above."""
    name, symbol, length = ("hours", "h", HOUR_S) if seconds >= MIN_IN_HOURS_S else ("minutes", "min", MINUTE_S)
    return Unit(name, symbol, length, digits=2 if seconds < 100 * length else 1)


def copy_bits(info: DatasetInfo) -> int:
    """Recordings that differ in fewer bits were compared: the threshold of the build, 0 if it compared none."""
    return int(info.selection.checks.get("min_duplicate_bits") or 0)


def _clips(dataset: Dataset, *, kept: DatasetRows, filtered: DatasetRows, rejected: DatasetRows) -> dict[str, Any]:
    gallery = make_gallery(dataset, kept=kept, filtered=filtered, reasons=filtered_by_reason(rejected))
    low, high = magnitude_range(gallery.clips)
    return {
        "gallery": gallery,
        "worst_per_check": WORST_PER_CHECK,
        "sort_columns": SORT_COLUMNS,
        "mel_image": lambda mel: mel_data_uri(mel, low=low, high=high),
        "mel_range": (low, high),
        "colour_scale": colour_scale(),
        "frequency_ticks": frequency_ticks(dataset.info.contract.features),
    }
