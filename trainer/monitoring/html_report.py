"""The page: the files of a run into the template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from shared.errors import UserError
from shared.files import write_bytes
from trainer.monitoring.data_uris import audio_uri, image_uri
from trainer.monitoring.line_charts import HEIGHT, WIDTH, ChartSpec, build_chart, format_number
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.samples import Sample, read_samples
from trainer.monitoring.terminal import LOSS_TERMS, gpu_indices

MAX_INCIDENTS = 50

CHARTS = (
    ChartSpec("Loss in training", "with guided attention while that lasts", [("training", "train", "loss")]),
    ChartSpec("Loss in validation", "without guided attention", [("validation", "validation", "loss")]),
    *(
        ChartSpec(
            "KL" if part == "kl" else part.replace("_", " "),
            "",
            [("training", "train", part), ("validation", "validation", part)],
        )
        for part in LOSS_TERMS
    ),
    ChartSpec("Spoken freely: distance of mels", "dB", [("warped in time", "validation", "free_mel_distance_db")]),
    ChartSpec(
        "Spoken freely: lengths and attention",
        "%",
        [
            ("length off by", "validation", "free_length_error"),
            ("steps that move on", "validation", "free_moves"),
            ("clips that ended", "validation", "free_ended"),
        ],
        factor=100.0,
    ),
    ChartSpec("Learning rate", "", [("learning rate", "train", "learning_rate")]),
    ChartSpec("Gradient norm", "before clipping", [("gradient norm", "train", "gradient_norm")]),
    ChartSpec("Loss scale", "of float16", [("loss scale", "train", "loss_scale")]),
    ChartSpec(
        "Weights of the loss",
        "where they adapt",
        [(part.replace("_", " "), "train", f"{part}_weight") for part in LOSS_TERMS],
    ),
    ChartSpec("Speed", "frames/s", [("frames", "train", "frames_per_second")]),
    ChartSpec("Stall", "% of the time without a batch", [("stall", "train", "stall")], factor=100.0),
    ChartSpec("Memory", "MiB", [("of the process", "train", "memory_mib")]),
)
GPU_CHARTS = (
    ("Memory of GPUs", "MiB", "memory_peak_mib"),
    ("Power of GPUs", "W", "power_w"),
    ("GPU", "% busy", "utilisation"),
)


def write_html_report(run: Path) -> None:
    """`RUN/summary.html`, anew.

    Raises:
        UserError: the disk is full or fails.
    """
    path = run / "summary.html"
    try:
        write_bytes(path, render_html(run).encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); make room") from error


def render_html(run: Path) -> str:
    """The whole page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trainer.monitoring"),
        autoescape=True,  # names, texts and settings are a stranger's
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tidy"] = format_number
    environment.filters["duration"] = format_duration
    return environment.get_template("page.html.j2").render(**template_values(run))


def template_values(run: Path) -> dict[str, Any]:
    """What the template names."""
    rows, incidents, samples = _rows(run / "metrics.jsonl"), _rows(run / "incidents.jsonl"), read_samples(run)
    charts = [chart for chart in (build_chart(spec, rows=rows) for spec in (*CHARTS, *_gpu_charts(rows))) if chart]
    return {
        "name": run.absolute().name,
        "root": str(run.absolute()),
        "summary": json.loads((run / "summary.json").read_text(encoding="utf-8")),
        "last": {kind: _last(rows, kind=kind) for kind in ("train", "validation")},
        "view": (WIDTH, HEIGHT),
        "charts": charts,
        "incidents": [(row, _others(row)) for row in incidents[-MAX_INCIDENTS:][::-1]],
        "all_incidents": len(incidents),
        "samples": samples,
        "clips": [_clip(one, rate_hz=samples.rate_hz) for one in samples.all] if samples else [],
    }


def _gpu_charts(rows: list[dict[str, Any]]) -> list[ChartSpec]:
    numbers = gpu_indices(name for row in rows for name in row)
    return [
        ChartSpec(title, unit, [(f"GPU {number}", "train", f"gpu{number}_{figure}") for number in numbers])
        for title, unit, figure in GPU_CHARTS
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, none where there is no file; a damaged row is the monitor's to tell of."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            found.append(row)
    return found


def _last(rows: list[dict[str, Any]], *, kind: str) -> dict[str, Any]:
    return next((row for row in reversed(rows) if row.get("kind") == kind), {})


def _others(row: dict[str, Any]) -> str:
    """What an incident says beside its kind and step."""
    return "; ".join(f"{name.replace('_', ' ')}: {_words(row[name])}" for name in row if name not in ("kind", "step"))


def _words(value: Any) -> str:
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
    """In the largest units that tell something."""
    minutes, rest = divmod(seconds, 60)
    hours, whole = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {whole} min"
    return f"{whole} min {rest:.0f} s" if whole else f"{rest:.1f} s"
