"""The page: all facts into the template."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, NamedTuple

from markupsafe import Markup

from pipelines.html.axes import VIEW_BOX
from pipelines.html.clips import magnitude_range
from pipelines.html.media import colour_scale, frequency_ticks, mel_data_uri
from pipelines.html.template import template_environment
from pipelines.report.assessment import assess_dataset, dataset_state, publication_time
from pipelines.report.clips import gallery
from pipelines.report.distributions import SHOWN_LANGUAGES, histograms, rates_by_language
from pipelines.report.rejections import rejection_totals, withheld_by_reason
from pipelines.report.text_issues import repetition_totals, text_issues
from pipelines.report.totals import language_totals, source_totals, speaker_totals, split_totals
from pipelines.tables.columns import RECORD_COLUMNS, REJECTION_COLUMNS, DatasetRows, load_columns
from preprocess.check_config import CheckConfig
from shared.dataset import Dataset, DatasetInfo

HOUR_S, MINUTE_S = 3600.0, 60.0
# A dataset of less is told in minutes.
LEAST_IN_HOURS_S = 2 * HOUR_S


class Unit(NamedTuple):
    """In what time is told, on the whole page."""

    name: str
    symbol: str
    seconds: float
    digits: int  # behind the point


def render(dataset: Dataset) -> str:
    """The whole page.

    Raises:
        UserError: a table cannot be read.
    """
    environment = template_environment("pipelines.report")
    script = environment.get_template("page.js").render()
    return environment.get_template("page.html.j2").render(
        **facts(dataset), script=Markup(script), script_sha256=_sha256(script)
    )


def facts(dataset: Dataset) -> dict[str, Any]:
    """What the template names."""
    info, layout = dataset.info, dataset.layout
    stems = [shard.name for shard in info.shards]
    kept = load_columns(stems, path_of=layout.manifest, columns=RECORD_COLUMNS)
    withheld = load_columns(stems, path_of=layout.withheld_manifest, columns=RECORD_COLUMNS)
    rejected = load_columns(stems, path_of=layout.rejected, columns=REJECTION_COLUMNS)
    sources, splits = source_totals(info, kept=kept), split_totals(kept)
    languages, reasons = language_totals(kept, rejected=rejected), rejection_totals(rejected)
    speakers, texts = speaker_totals(kept), text_issues(kept, withheld=withheld)
    repetitions = repetition_totals(kept, withheld=withheld, copy_bits=copy_bits(info))
    codes = [row.code for row in languages if row.records]
    seconds = sum(split.seconds for split in splits)
    return {
        "info": info,
        "state": dataset_state(dataset),
        "built": f"{publication_time(dataset):%Y-%m-%d %H:%M}",
        "root": str(layout.root.absolute()),
        "name": layout.root.absolute().name,
        "unit": choose_unit(seconds),
        "seconds": seconds,
        "verdict": assess_dataset(
            dataset, kept=kept, sources=sources, splits=splits, reasons=reasons, texts=texts, repetitions=repetitions
        ),
        "sources": sources,
        "splits": splits,
        "languages": languages,
        "speakers": speakers,
        "speaker_unit": choose_unit(max((row.seconds for row in speakers.shown), default=0.0)),
        "median_unit": choose_unit(speakers.median_s),
        "reasons": reasons,
        "texts": texts,
        "repetitions": repetitions,
        "copy_bits": copy_bits(info),
        "histograms": histograms(info, kept=kept, withheld=withheld),
        "rates": rates_by_language(info, kept=kept, withheld=withheld, codes=codes),
        "view": VIEW_BOX,
        "other_languages": codes[SHOWN_LANGUAGES:],
        **_pictures(dataset, kept=kept, withheld=withheld, rejected=rejected),
    }


def choose_unit(seconds: float) -> Unit:
    """Hours, or minutes for a small dataset; two digits as long as they tell something."""
    name, symbol, length = ("hours", "h", HOUR_S) if seconds >= LEAST_IN_HOURS_S else ("minutes", "min", MINUTE_S)
    return Unit(name, symbol, length, digits=2 if seconds < 100 * length else 1)


def copy_bits(info: DatasetInfo) -> int:
    """Recordings that differ in fewer bits are copies: the threshold, or the usual one where none was set."""
    usual = CheckConfig.model_fields["min_duplicate_bits"].default
    return int(info.selection.checks.get("min_duplicate_bits") or usual)


def _pictures(dataset: Dataset, *, kept: DatasetRows, withheld: DatasetRows, rejected: DatasetRows) -> dict[str, Any]:
    found = gallery(dataset, kept=kept, withheld=withheld, reasons=withheld_by_reason(rejected))
    low, high = magnitude_range(found.clips)
    return {
        "gallery": found,
        "picture_of": lambda mel: mel_data_uri(mel, low=low, high=high),
        "picture_range": (low, high),
        "colour_scale": colour_scale(),
        "frequency_ticks": frequency_ticks(dataset.info.contract.features),
    }


def _sha256(script: str) -> str:
    """By which a browser knows the one script that it may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
