"""The page: all facts into the template."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, NamedTuple

from markupsafe import Markup

from pipelines.html.axes import VIEW
from pipelines.html.media import colour_scale, frequency_ticks, picture
from pipelines.html.template import template_environment
from pipelines.report.assessment import built_at, judge, state_of
from pipelines.report.clips import gallery
from pipelines.report.distributions import SHOWN_LANGUAGES, histograms, rates_by_language
from pipelines.report.facts import language_facts, source_facts, speaker_facts, split_facts
from pipelines.report.rejections import rejection_facts, withheld_by_reason
from pipelines.report.texts import company_facts, text_facts
from pipelines.tables.columns import RECORD_COLUMNS, REJECTION_COLUMNS, DatasetRows, load_columns
from preprocess.checks import CheckConfig
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
    sources, splits = source_facts(info, kept=kept), split_facts(kept)
    languages, reasons = language_facts(kept, rejected=rejected), rejection_facts(rejected)
    speakers, texts = speaker_facts(kept), text_facts(kept, withheld=withheld)
    company = company_facts(kept, withheld=withheld, copy_bits=copy_bits(info))
    codes = [row.code for row in languages if row.records]
    seconds = sum(split.seconds for split in splits)
    return {
        "info": info,
        "state": state_of(dataset),
        "built": f"{built_at(dataset):%Y-%m-%d %H:%M}",
        "root": str(layout.root.absolute()),
        "name": layout.root.absolute().name,
        "unit": choose_unit(seconds),
        "seconds": seconds,
        "verdict": judge(
            dataset, kept=kept, sources=sources, splits=splits, reasons=reasons, texts=texts, company=company
        ),
        "sources": sources,
        "splits": splits,
        "languages": languages,
        "speakers": speakers,
        "speaker_unit": choose_unit(max((row.seconds for row in speakers.shown), default=0.0)),
        "median_unit": choose_unit(speakers.median_s),
        "reasons": reasons,
        "texts": texts,
        "company": company,
        "copy_bits": copy_bits(info),
        "histograms": histograms(info, kept=kept, withheld=withheld),
        "rates": rates_by_language(info, kept=kept, withheld=withheld, codes=codes),
        "view": VIEW,
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
    low, high = found.range
    return {
        "gallery": found,
        "picture_of": lambda mel: picture(mel, low=low, high=high),
        "picture_range": (low, high),
        "colour_scale": colour_scale(),
        "frequency_ticks": frequency_ticks(dataset.info.contract.features),
    }


def _sha256(script: str) -> str:
    """By which a browser knows the one script that it may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
