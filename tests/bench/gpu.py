"""A GPU that trains: its utilisation by NVML and by nvidia-smi, stall and step time, over 200 steps of a `normal` XTTS;
before, in a process that has the memory to itself, ever larger full batches: the share of the card that is made use of,
and the largest batch that fits (tests/bench/mfu.py).

    python -m tests.bench.gpu [--size normal] [--steps 200] [--data DATA] [--out docs/gpu.md]

The training is the product's own; steps in which XLA compiled are not counted. Without a GPU it says so, exit code 2.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trainer.platform.tf_setup import start_tensorflow

if TYPE_CHECKING:  # TensorFlow is brought in later
    from tests.bench.mfu import Use

CLIPS = 1_600
SHAPES = 4
NVIDIA_SMI = shlex.split("nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits --loop-ms=500")
MIN_UTILISATION, MAX_STALL, MAX_DIFFERENCE = 95.0, 0.01, 5.0  # percent, share, percentage points
MIN_MFU = 45.0  # percent


@click.command()
@click.option("--size", default="normal", show_default=True)
@click.option("--steps", type=click.IntRange(min=20), default=200, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), help="A dataset; otherwise one is made.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Where the page goes, else to the terminal."
)
def main(size: str, steps: int, data: Path | None, out: Path | None) -> None:
    """Measure, and write a page of results."""
    used = subprocess.run([sys.executable, "-m", "tests.bench.mfu", size], stdout=subprocess.PIPE, text=True)
    if used.returncode:
        sys.exit(used.returncode)
    allocator = start_tensorflow(keep_programs=True)
    import tensorflow as tf

    (first, *_) = tf.config.list_physical_devices("GPU")
    card = tf.config.experimental.get_device_details(first).get("device_name", "unknown")
    with tempfile.TemporaryDirectory() as folder:
        summary, by_smi = _train(
            data or _make_data(Path(folder)), Path(folder), size=size, steps=steps, allocator=allocator
        )
    from tests.bench.mfu import read_uses

    page = _page(summary, by_smi=by_smi, uses=read_uses(used.stdout), card=card, size=size)
    out.write_text(page, encoding="utf-8") if out else click.echo(page)


def _make_data(folder: Path) -> Path:
    from pipelines.build.build_dataset import build_dataset
    from tests.bench.corpus import bench_config

    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    build_dataset(bench_config(folder, clips=CLIPS), data=folder / "data")
    return folder / "data"


def _train(data: Path, folder: Path, *, size: str, steps: int, allocator: str) -> tuple[Any, float | None]:
    """The training's summary, and the mean utilisation by nvidia-smi outside of what the summary excludes."""
    from trainer.config.train_config import TrainConfig
    from trainer.monitoring.gpu_stats import SAMPLE_PERIOD_S
    from trainer.training.train import train

    settings = {"model": {"size": size}, "input": {"buckets": SHAPES}, "steps": steps + SHAPES}
    first_visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    with subprocess.Popen([*NVIDIA_SMI, f"--id={first_visible}"], stdout=subprocess.PIPE, text=True) as watcher:
        samples: list[tuple[float, float]] = []
        threading.Thread(target=_collect, args=(watcher, samples), daemon=True).start()
        try:
            ended = train(TrainConfig.model_validate(settings), data=data, run=folder / "run", allocator=allocator)
        finally:
            watcher.terminate()
    assert ended.summary is not None
    excluded = ended.summary.excluded  # the first batch opens it, the last checkpoint ends it
    counted = [
        value
        for at_s, value in samples
        if excluded[0].start_s <= at_s <= excluded[-1].end_s
        and not any(one.start_s <= at_s <= one.end_s + SAMPLE_PERIOD_S for one in excluded)
    ]
    return ended.summary, statistics.fmean(counted) if counted else None


def _collect(watcher: subprocess.Popen[str], samples: list[tuple[float, float]]) -> None:
    """Append each percentage and its time."""
    assert watcher.stdout is not None
    samples.extend((time.monotonic(), float(line)) for line in watcher.stdout if line.strip().isdigit())


def _page(summary: Any, *, by_smi: float | None, uses: list[Use], card: str, size: str) -> str:
    """The page in Markdown: GPU, command, results with their bounds, and the whole summary."""
    by_nvml = summary.gpus[0].utilisation if summary.gpus else None
    computing = 100 * summary.figures["compute"]
    rows = [
        ("utilisation by NVML", _percent(by_nvml), f"≥ {MIN_UTILISATION:.0f} %", _at_least(by_nvml, MIN_UTILISATION)),
        ("utilisation by nvidia-smi", _percent(by_smi), "as NVML", _near(by_smi, by_nvml)),
        ("computing by the step trace", _percent(computing), "as NVML", _near(computing, by_nvml)),
        ("stall", f"{summary.figures['stall']:.2%}", f"≤ {MAX_STALL:.0%}", summary.figures["stall"] <= MAX_STALL),
        ("a step computes, median", f"{summary.figures['compute_median_ms']:.1f} ms", "", None),
        ("clips/s", f"{summary.figures['clips_per_second']:,.0f}", "", None),
        *_use_rows(uses, card=card),
    ]
    table = "\n".join(f"| {name} | {value} | {expected} | {_verdict(met)} |" for name, value, expected, met in rows)
    command = shlex.join(["python", "-m", "tests.bench.gpu", *sys.argv[1:]])
    return (
        f"# Training `{size}` on {card}\n\n    {command}\n\n"
        f"| figure | measured | expected | |\n|---|---|---|---|\n{table}\n\n"
        f"```json\n{json.dumps(summary.model_dump(mode='json'), indent=1)}\n```\n"
    )


def _use_rows(uses: list[Use], *, card: str) -> Iterator[tuple[str, str, str, bool | None]]:
    """Rows for full batches; the best one is compared with the bound, the last one is the largest that fits."""
    best = max(uses, key=lambda use: use.flops_per_s, default=None)
    for use in uses:
        share = use.share_of(card)
        shown = _percent(None if share is None else 100 * share)
        is_best = use is best
        yield (
            f"model FLOPs utilisation, {use.bucket.clips} clips of {use.bucket.frames} frames",
            f"{shown} ({1e-12 * use.flops_per_s:.0f} T/s, {1000 * use.step_s:.0f} ms)",
            f"≥ {MIN_MFU:.0f} %" if is_best else "",
            _at_least(100 * share, MIN_MFU) if is_best and share is not None else None,
        )


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f} %"


def _at_least(value: float | None, expected: float) -> bool | None:
    return None if value is None else value >= expected


def _near(value: float | None, other: float | None) -> bool | None:
    return None if value is None or other is None else abs(value - other) <= MAX_DIFFERENCE


def _verdict(met: bool | None) -> str:
    return "" if met is None else ("met" if met else "missed")


if __name__ == "__main__":
    main()
