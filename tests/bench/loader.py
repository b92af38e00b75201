"""Benchmark of data loaders: the same clips, batched by the same rule, each loader in its own process.

    python -m tests.bench.loader [CLIPS] [REPEATS] [SECONDS]

Each candidate writes the clips of one dataset in its own format, shows once that an epoch of its batches holds
every clip with its values, and then loads by turns. The floor is TensorFlow's own reading of our shards.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipelines.build.build_dataset import build_dataset
from shared.dataset import Dataset
from tests.bench.corpus import bench_config
from tests.bench.measure import Measurement, interleaved
from tests.bench.peers.clips import CLIPS_PER_BATCH, Corpus
from tests.bench.peers.process import Candidate
from tests.bench.summary import add_row

CLIPS, REPEATS, SECONDS = 1_600, 5, 2.0


class Line(NamedTuple):
    """A loader to compare with: its command, and the ratio that ours must reach."""

    module: str
    bound: float | None = None
    tuned: bool = False  # glibc's allocator, as training does


OURS = "ours"
LINES = {
    OURS: Line("ours", tuned=True),
    "ours, glibc's defaults": Line("ours"),
    "raw TFRecordDataset, left in TensorFlow": Line("raw", 0.6),
    "raw TFRecordDataset, as Python's bytes": Line("raw_bytes", 0.6),
    "float lists, parse_single_example": Line("float_lists", 1.8),
    "PyTorch DataLoader, .npy files": Line("pytorch_npy", 2.0),
    "lhotse, lilcom": Line("lhotse_lilcom", 4.0),
    "lhotse, .npy files": Line("lhotse_npy"),
    "grain, ArrayRecord, 2 processes": Line("grain_processes", 3.0),
    "grain, not compressed, threads": Line("grain_threads"),
    "from_generator, numpy_function": Line("numpy_function", 8.0),
    "Hugging Face datasets, Arrow": Line("hugging_face"),
    "webdataset, tars": Line("webdataset_tar"),
}


def main() -> None:
    """Print the table."""
    clips, repeats, seconds = (kind(word) for kind, word in zip((int, int, float), arguments(), strict=True))
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        corpus = build_corpus(Path(folder), clips=clips)
        with running(corpus, folder=Path(folder)) as candidates:
            results = interleaved(candidates, repeats=repeats, measure=lambda candidate: candidate.load(seconds))
            padding = {name: candidate.padding for name, candidate in candidates.items()}
    print(
        f"loaders of {clips} clips, {CLIPS_PER_BATCH} to a batch, warm cache, {os.cpu_count()} cores, "
        f"{repeats} interleaved turns of {seconds:g} s, medians"
    )
    print(table(results, padding=padding))
    for name, turns in results.items():
        bound, ratio = LINES[name].bound, ratio_to(results[OURS], turns)
        if bound is not None:
            add_row("loader", "clips/s", measured=f"{ratio:.2f}", floor=name, bound=f"≥ {bound}", met=ratio >= bound)


def arguments() -> list[str]:
    """The arguments of the command line, completed by defaults."""
    said = sys.argv[1:]
    return [*said, *map(str, (CLIPS, REPEATS, SECONDS)[len(said) :])]


def build_corpus(folder: Path, *, clips: int) -> Corpus:
    """A dataset of `clips` clips, and the limits of the buckets that our loader plans for it."""
    from tests.bench.peers.ours import plan  # TensorFlow, and so after the pipeline

    build_dataset(bench_config(folder, clips=clips), data=folder / "data")
    bounds = sorted({bucket.frames for bucket in plan(Dataset.open(folder / "data")).buckets})
    return Corpus(str(folder / "data"), bounds)


@contextmanager
def running(corpus: Corpus, *, folder: Path) -> Iterator[dict[str, Candidate]]:
    """Start all loaders for the block."""
    candidates: dict[str, Candidate] = {}
    try:
        for number, (name, line) in enumerate(LINES.items()):
            candidates[name] = Candidate(line.module, folder=folder / f"{number:02d}", corpus=corpus, tuned=line.tuned)
        yield candidates
    finally:
        for candidate in candidates.values():
            candidate.close()


def ratio_to(ours: list[Measurement], its: list[Measurement]) -> float:
    """The median of the ratios of each round, ours over another's."""
    return statistics.median(one.clips_per_s / other.clips_per_s for one, other in zip(ours, its, strict=True))


def table(results: dict[str, list[Measurement]], *, padding: dict[str, float | None]) -> str:
    """The table, fastest loader first; each ratio is the median over the rounds."""
    median = {name: statistics.median(one.clips_per_s for one in turns) for name, turns in results.items()}
    lines = [
        f"{'':40} {'clips/s':>8} {'min':>7} {'max':>7} {'CPU s/1000':>11} {'padding':>8} {'ours/it':>8} {'bound':>7}"
    ]
    for name in sorted(results, key=lambda name: -median[name]):
        turns, bound = results[name], LINES[name].bound
        rates = [one.clips_per_s for one in turns]
        cpu_s = statistics.median(1000 * one.cpu_s / one.clips for one in turns)
        ratio = ratio_to(results[OURS], turns)
        padded = "-" if padding[name] is None else f"{padding[name]:.1%}"
        verdict = "" if bound is None else f"{bound:7.1f} {'✓' if ratio >= bound else '✗'}"
        lines.append(
            f"{name:40} {median[name]:8.0f} {min(rates):7.0f} {max(rates):7.0f} {cpu_s:11.3f} "
            f"{padded:>8} {ratio:8.2f} {verdict}".rstrip()
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
