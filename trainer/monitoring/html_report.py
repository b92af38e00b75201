"""The page: the files of a run into the template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from shared.errors import UserError
from shared.files import write_bytes
from trainer.monitoring.data_uris import picture, sound
from trainer.monitoring.line_charts import HEIGHT, WIDTH, Asked, draw, written
from trainer.monitoring.plots import alignment_picture, mels_picture
from trainer.monitoring.samples import Sample, read_samples
from trainer.monitoring.terminal import PARTS, gpu_numbers

SHOWN_INCIDENTS = 50

CHARTS = (
    Asked("Loss in training", "with guided attention while that lasts", [("training", "train", "loss")]),
    Asked("Loss in validation", "without guided attention", [("validation", "validation", "loss")]),
    *(
        Asked(
            "KL" if part == "kl" else part.replace("_", " "),
            "",
            [("training", "train", part), ("validation", "validation", part)],
        )
        for part in PARTS
    ),
    Asked("Spoken freely: distance of mels", "dB", [("warped in time", "validation", "free_mel_distance_db")]),
    Asked(
        "Spoken freely: lengths and attention",
        "%",
        [
            ("length off by", "validation", "free_length_error"),
            ("steps that move on", "validation", "free_moves"),
            ("clips that ended", "validation", "free_ended"),
        ],
        factor=100.0,
    ),
    Asked("Learning rate", "", [("learning rate", "train", "learning_rate")]),
    Asked("Gradient norm", "before clipping", [("gradient norm", "train", "gradient_norm")]),
    Asked("Loss scale", "of float16", [("loss scale", "train", "loss_scale")]),
    Asked(
        "Weights of the loss",
        "where they adapt",
        [(part.replace("_", " "), "train", f"{part}_weight") for part in PARTS],
    ),
    Asked("Speed", "frames/s", [("frames", "train", "frames_per_second")]),
    Asked("Stall", "% of the time without a batch", [("stall", "train", "stall")], factor=100.0),
    Asked("Memory", "MiB", [("of the process", "train", "memory_mib")]),
)
OF_GPUS = (
    ("Memory of GPUs", "MiB", "memory_peak_mib"),
    ("Power of GPUs", "W", "power_w"),
    ("GPU", "% busy", "utilisation"),
)


def write_page(run: Path) -> None:
    """`RUN/summary.html`, anew.

    Raises:
        UserError: the disk is full or fails.
    """
    path = run / "summary.html"
    try:
        write_bytes(path, render(run).encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); make room") from error


def render(run: Path) -> str:
    """The whole page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("trainer.monitoring"),
        autoescape=True,  # names, texts and settings are a stranger's
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tidy"] = written
    environment.filters["duration"] = duration
    return environment.get_template("page.html.j2").render(**facts(run))


def facts(run: Path) -> dict[str, Any]:
    """What the template names."""
    rows, incidents, samples = _rows(run / "metrics.jsonl"), _rows(run / "incidents.jsonl"), read_samples(run)
    charts = [chart for chart in (draw(asked, rows=rows) for asked in (*CHARTS, *_of_gpus(rows))) if chart]
    return {
        "name": run.absolute().name,
        "root": str(run.absolute()),
        "summary": json.loads((run / "summary.json").read_text(encoding="utf-8")),
        "last": {kind: _last(rows, kind=kind) for kind in ("train", "validation")},
        "view": (WIDTH, HEIGHT),
        "charts": charts,
        "incidents": [(row, _others(row)) for row in incidents[-SHOWN_INCIDENTS:][::-1]],
        "all_incidents": len(incidents),
        "samples": samples,
        "clips": [_clip(one, rate_hz=samples.rate_hz) for one in samples.all] if samples else [],
    }


def _of_gpus(rows: list[dict[str, Any]]) -> list[Asked]:
    numbers = gpu_numbers(name for row in rows for name in row)
    return [
        Asked(title, unit, [(f"GPU {number}", "train", f"gpu{number}_{figure}") for number in numbers])
        for title, unit, figure in OF_GPUS
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
        "mels": picture(mels_picture(sample.target, sample.spoken)),
        "alignment": picture(alignment_picture(sample.alignment)),
        "target_sound": sound(sample.target_sound, rate_hz=rate_hz),
        "spoken_sound": sound(sample.spoken_sound, rate_hz=rate_hz),
    }


def duration(seconds: float) -> str:
    """In the largest units that tell something."""
    minutes, rest = divmod(seconds, 60)
    hours, whole = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {whole} min"
    return f"{whole} min {rest:.0f} s" if whole else f"{rest:.1f} s"
