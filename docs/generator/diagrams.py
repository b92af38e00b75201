"""The diagrams of the site, drawn as SVG: boxes from top to bottom, each with what it does and where its code is.

python -m docs.generator.diagrams docs/images
"""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import NamedTuple

WIDTH, MARGIN, LINE, PADDING, GAP = 520, 10, 20, 12, 26
FONT = "font-family='system-ui, sans-serif'"
COLOURS = {"data": "#e0f2f1", "work": "#ffffff", "file": "#fff8e1"}


class Box(NamedTuple):
    """A stage: its name, what happens there, and the module that does it."""

    title: str
    lines: tuple[str, ...] = ()
    module: str = ""
    kind: str = "work"  # "data", "work" or "file"


OVERVIEW = (
    Box("Speech corpora", ("wav, flac, mp3, ogg, opus with texts",), kind="data"),
    Box("myxtts-data build", ("decode, measure, mel, tokens; Apache Beam", "one process, several, or Flink"), "once"),
    Box("TFRecord shards", ("manifests, statistics, sha256 of every file",), kind="file"),
    Box("myxtts-data validate, report, compare, trace", ("every byte, every claim; repair to the same bytes",)),
    Box("myxtts-train train", ("tf.data → one XLA program per batch shape",), "as often as you like"),
    Box("Checkpoints, metrics, summary.html", kind="file"),
    Box("myxtts-speak say, serve; export", ("text and a voice → mel → Griffin-Lim",)),
    Box("Speech", kind="data"),
)

UTTERANCE = (
    Box(
        "Metadata of a corpus",
        ("rows become utterances or rejections; no audio is read",),
        "preprocess/corpora/",
        "data",
    ),
    Box("Plan", ("split and shard by a hash of the id; references, not audio",), "pipelines/build/shard_plan.py"),
    Box("Decode", ("libsndfile; resample; optional trim and loudness",), "preprocess/audio.py, processing.py"),
    Box("Measure", ("level, clipping, silence, SNR, bandwidth, audio hash",), "preprocess/quality.py"),
    Box("Mel", ("the vocoder's features, one definition for all uses",), "preprocess/mel.py"),
    Box("Text and tokens", ("NFKC, numbers read out, NLLB pieces",), "preprocess/text.py, tokens.py"),
    Box(
        "Prepared shard",
        ("records in the order of their hashes, a row for each",),
        "pipelines/build/prepare_shards.py",
        "file",
    ),
    Box(
        "Filter",
        ("thresholds on columns; duplicates, repeats, leaks, speech rate", "of a whole source, in one worker"),
        "pipelines/build/filter_utterances.py",
    ),
    Box("Write", ("kept → shards/, filtered → withheld/, failed → rejected/",), "pipelines/build/write_shards.py"),
    Box("Publish", ("statistics, vocab.json, dataset.json, then _SUCCESS",), "pipelines/build/publish.py"),
    Box("Dataset", kind="file"),
)

BATCH = (
    Box("Manifests", ("lengths, languages, speakers of every record",), "trainer/data/manifest_rows.py", "file"),
    Box("Plan", ("bucket sizes with the least padding; sampling rates",), "trainer/data/buckets.py, sampling.py"),
    Box("Epoch order", ("a function of manifests, settings and seed",), "trainer/data/epoch_order.py"),
    Box(
        "Read and parse",
        ("blocks of records in parallel; TensorFlow operations only",),
        "trainer/data/reader.py, parser.py",
    ),
    Box("Batch", ("chunk → buckets → padded batch [B, F, M], [B, T]",), "trainer/data/pipeline.py"),
    Box("Devices", ("rows are divided among GPUs and hosts; prefetch",), "trainer/data/distributed_input.py"),
    Box(
        "Training step",
        ("reference crop, XTTS, losses, gradients, AdamW;", "one XLA program per shape"),
        "trainer/training/train_step.py",
    ),
    Box("Metrics", ("read from the device every log_every steps",), "trainer/monitoring/"),
    Box("Checkpoint", ("weights, optimizer, position; written by a thread",), "trainer/checkpoint/", "file"),
)

DIAGRAMS = {"overview": OVERVIEW, "utterance": UTTERANCE, "batch": BATCH}


def draw(boxes: tuple[Box, ...]) -> str:
    """The boxes as an SVG picture, an arrow from each to the next."""
    parts, top = [], MARGIN
    for number, box in enumerate(boxes):
        if number:
            parts.append(_arrow(top, top + GAP))
            top += GAP
        height = 2 * PADDING + LINE * (1 + len(box.lines) + bool(box.module)) - 6
        parts.append(_box(box, top=top, height=height))
        top += height
    size = f"viewBox='0 0 {WIDTH} {top + MARGIN}' width='{WIDTH}' height='{top + MARGIN}'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} {FONT}>\n" + "\n".join(parts) + "\n</svg>\n"


def _box(box: Box, *, top: int, height: int) -> str:
    lines = [
        f"<rect x='{MARGIN}' y='{top}' width='{WIDTH - 2 * MARGIN}' height='{height}' rx='6' "
        f"fill='{COLOURS[box.kind]}' stroke='#00796b'/>"
    ]
    texts = [(box.title, "font-size='16' font-weight='600' fill='#004d40'")]
    texts += [(line, "font-size='15' fill='#212121'") for line in box.lines]
    texts += [(box.module, "font-size='13' fill='#616161' font-family='monospace'")] if box.module else []
    for number, (text, style) in enumerate(texts):
        y = top + PADDING + 13 + LINE * number
        lines.append(f"<text x='{WIDTH // 2}' y='{y}' text-anchor='middle' {style}>{html.escape(text)}</text>")
    return "\n".join(lines)


def _arrow(top: int, bottom: int) -> str:
    x = WIDTH // 2
    head = f"M{x - 5} {bottom - 8} L{x} {bottom - 1} L{x + 5} {bottom - 8}"
    return f"<path d='M{x} {top} V{bottom - 7} {head}' fill='none' stroke='#00796b' stroke-width='2'/>"


def write(folder: Path) -> None:
    """Writes every diagram into a folder."""
    for name, boxes in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(draw(boxes), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
