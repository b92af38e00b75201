"""`RUN/summary.html`: what a run has learnt, how fast, under which settings, on one page."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from shared.config import Config
from shared.errors import writing
from shared.files import write_bytes
from trainer.config.train_config import TrainConfig
from trainer.monitoring.chart_specs import LEARNING, OPTIMIZATION, speed_charts, synthesis_charts
from trainer.monitoring.data_uris import audio_uri, image_uri
from trainer.monitoring.line_charts import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, ChartSpec, build_chart, format_number
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.run_files import Row, RunFiles, flatten, is_number, read_run_files
from trainer.monitoring.samples import Sample, read_samples

MAX_INCIDENTS = 50
LIMIT = re.compile(r"(?!compute)\w+-bound: ")  # every verdict with a remedy but compute-bound


def write_html_report(run: Path) -> None:
    """Write `RUN/summary.html` from the files of the run.

    Raises:
        UserError: the disk is full or fails.
    """
    write_page(render_html(run), run=run)


def write_page(page: str, *, run: Path) -> None:
    """Write a page as `RUN/summary.html`.

    Raises:
        UserError: the disk is full or fails.
    """
    path = run / "summary.html"
    with writing(path, advice="make room"):
        write_bytes(path, page.encode())


def render_html(run: Path) -> str:
    """The page as HTML that refers to no other file but the dataset's report."""
    return load_template("summary.html.j2").render(**_template_values(run))


def load_template(name: str) -> jinja2.Template:
    """A template of this package, with the filters and the chart geometry that the templates use."""
    return _environment().get_template(name)


@functools.cache  # it compiles each template once, which takes longer than to render it
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trainer.monitoring"),
        autoescape=True,  # names, texts and settings may hold any characters
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    environment.filters["duration"] = format_duration
    environment.globals["view"] = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP}
    return environment


def _template_values(run: Path) -> dict[str, Any]:
    files, samples = read_run_files(run), read_samples(run)
    charts = functools.partial(draw_charts, rows=files.rows)
    return {
        "name": files.name,
        "root": str(run.absolute()),
        "headline": headline(files),
        "limits": [line for line in files.summary.get("verdicts", []) if LIMIT.match(line)],
        "summary": files.summary,
        "steps": files.settings.get("steps"),
        "last": {kind: files.last(kind) for kind in ("train", "validation")},
        "best": files.best_validation,
        "best_by": files.best_by,
        "learning": charts(LEARNING, best_step=files.best_step),
        "synthesis": charts(synthesis_charts(files.rows), best_step=files.best_step),
        "optimization": charts(OPTIMIZATION),
        "speed": charts(speed_charts(files.rows)),
        "evaluation": files.evaluation,
        "learn_check": files.learn_check,
        "incidents": [(row, _other_fields(row)) for row in files.incidents[-MAX_INCIDENTS:][::-1]],
        "all_incidents": len(files.incidents),
        "samples": samples,
        "clips": [_clip(one, rate_hz=samples.rate_hz) for one in samples.all] if samples else [],
        "dataset": _dataset(files),
        "settings": files.settings,
        "changed": changed_settings(files.settings, defaults=TrainConfig()),
    }


def headline(files: RunFiles, *, name: str = "validation loss", key: str = "loss", unit: str = "") -> str:
    """One sentence: the lowest validation loss, and whether it still falls.

    Args:
        name: of the metric `key` of the rows, which is lowest where the validation loss is.
    """
    best, last, train = files.best_validation, files.last("validation"), files.last("train")
    if not best:
        if not is_number(train.get("loss")):
            return "No loss was logged yet"
        return f"Not validated yet; training loss {format_number(train['loss'])} at step {train['step']:,}"
    lowest = f"{format_number(best[key])}{unit} at step {best['step']:,}"
    if best["step"] == last["step"]:
        earlier = any(row.get("kind") == "validation" and row["step"] < best["step"] for row in files.rows)
        return f"{name.capitalize()} {lowest}, {'the lowest so far' if earlier else 'the first validation'}"
    since = sum(row.get("kind") == "validation" and row["step"] > best["step"] for row in files.rows)
    return f"Lowest {name} {lowest}; no improvement in {since} validation{'s' * (since > 1)} since"


def changed_settings(settings: dict[str, Any], *, defaults: Config) -> list[tuple[str, Any, Any]]:
    """Key, value and default of the settings that differ from their defaults."""
    values = flatten(defaults.model_dump(mode="json"))
    return [(key, value, values.get(key)) for key, value in settings.items() if value != values.get(key)]


def draw_charts(specs: Sequence[ChartSpec], *, rows: Sequence[Row], best_step: int | None = None) -> list[Chart]:
    charts = (build_chart(spec, rows=rows, best_step=best_step) for spec in specs)
    return [chart for chart in charts if chart]


def _dataset(files: RunFiles) -> dict[str, str | None]:
    """Path of the dataset, a link to its report if there is one, and the fingerprint of its contract."""
    path = files.summary.get("data")
    report = Path(path) / "report.html" if path else None
    link = os.path.relpath(report, files.root.absolute()) if report and report.is_file() else None
    contract = files.description.get("contract") or {}
    features = contract.get("features") or {}
    return {
        "path": path,
        "link": link,
        "features": features.get("name"),
        "mel_dtype": contract.get("mel_dtype"),
    }


def _other_fields(row: Row) -> str:
    """The fields of an incident beside its step and kind, as text."""
    fields = (name for name in row if name not in ("kind", "step"))
    return "; ".join(f"{name.replace('_', ' ')}: {_as_text(row[name])}" for name in fields)


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _clip(sample: Sample, *, rate_hz: int) -> dict[str, Any]:
    return {
        "id": sample.utterance_id,
        "text": sample.text,
        "ended": bool(sample.has_ended),
        "frames": (len(sample.target), len(sample.spoken)),
        "mels": image_uri(mel_comparison_image(sample.target, sample.spoken)),
        "alignment": image_uri(alignment_image(sample.alignment)),
        "target_sound": audio_uri(sample.target_sound, rate_hz=rate_hz),
        "spoken_sound": audio_uri(sample.spoken_sound, rate_hz=rate_hz),
    }


def format_duration(seconds: float) -> str:
    """3 h 25 min, 12 min 5 s, or 4.6 s."""
    minutes, rest = divmod(seconds, 60)
    hours, whole = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {whole} min"
    return f"{whole} min {rest:.0f} s" if whole else f"{rest:.1f} s"
