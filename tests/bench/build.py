"""Build throughput against bare loops of the same utterance function.

    python -m tests.bench.build

The floor is what the utterances alone cost: read, decode, mel, tokens, measures. What Beam, framing, hashes,
selection, manifests and fsync add is the distance to 1. The floor of a long build is that loop on two processes,
and starting Beam's workers is told apart from it.
"""

from __future__ import annotations

import logging
import multiprocessing
import tempfile
from pathlib import Path

from pipelines.build.build_dataset import build_dataset
from pipelines.build.preparation import create_preparation
from pipelines.config import BuildConfig
from preprocess.corpora import read_corpus
from preprocess.record import PreparedUtterance
from preprocess.utterance import Utterance
from tests.bench.corpus import bench_config
from tests.bench.measure import interleaved, measure, report
from tests.bench.summary import add_row

CLIPS, REPEATS = 1_600, 3
LONG_CLIPS, LONG_REPEATS = 12_800, 3
EFFICIENCY, START_S = 0.75, 12.0


def main() -> None:
    """Print both tables."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        short_build(Path(folder))
        long_build(Path(folder))


def short_build(folder: Path) -> None:
    """Compare one process with two, for a small corpus; then repeat the build with nothing to do."""
    config = bench_config(folder / "short", clips=CLIPS)
    candidates = {
        "bare loop of the utterance function, 1 core": lambda: bare_loop(config, processes=1),
        "build, in memory": lambda: build(config, workers=1, data=fresh(folder / "data1")),
        "build, 2 worker processes (start included)": lambda: build(config, workers=2, data=fresh(folder / "data2")),
        "build again, nothing changed": lambda: build(config, workers=1, data=folder / "data2"),
    }
    results = interleaved(candidates, repeats=REPEATS)
    print(report(f"build of {CLIPS} clips", results, floor=next(iter(candidates))), flush=True)


def long_build(folder: Path) -> None:
    """Two workers against a bare loop in two processes."""
    config = bench_config(folder / "long", clips=LONG_CLIPS)
    floor, built = [], []
    for _ in range(LONG_REPEATS):
        floor.append(measure(lambda: bare_loop(config, processes=2)).seconds)
        built.append(measure(lambda: build(config, workers=2, data=fresh(folder / "data"))).seconds)
    floor_s, built_s = sorted(floor)[LONG_REPEATS // 2], sorted(built)[LONG_REPEATS // 2]
    limit_s = floor_s / EFFICIENCY + START_S
    print(
        f"build of {LONG_CLIPS} clips, 2 workers, start included: {built_s:.1f} s; bare loop in 2 processes "
        f"{floor_s:.1f} s; expected at most {floor_s:.1f} / {EFFICIENCY} + {START_S:.0f} = {limit_s:.1f} s"
    )
    add_row(
        "build",
        f"build of {LONG_CLIPS:,} clips, 2 workers",
        measured=f"{built_s:.1f} s",
        floor=f"bare loop in 2 processes, {floor_s:.1f} s",
        bound=f"≤ {limit_s:.1f} s",
        met=built_s <= limit_s,
    )


def fresh(data: Path) -> Path:
    """A path without a previous dataset, whose shards could be reused."""
    (data / "dataset.json").unlink(missing_ok=True)
    return data


def build(config: BuildConfig, *, workers: int, data: Path) -> int:
    info = build_dataset(config.model_copy(update={"workers": workers}), data=data).info
    return info.sources["bench"].read


def bare_loop(config: BuildConfig, *, processes: int) -> int:
    """Run only the utterance function, on every n-th utterance in each of n processes."""
    if processes == 1:
        return _prepare_part(config, part=0, parts=1)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return sum(pool.starmap(_prepare, [(config, part, processes) for part in range(processes)]))


def _prepare(config: BuildConfig, part: int, parts: int) -> int:
    return _prepare_part(config, part=part, parts=parts)


def _prepare_part(config: BuildConfig, *, part: int, parts: int) -> int:
    prepare = create_preparation(config)
    elements = list(read_corpus(config.sources["bench"], name="bench"))[part::parts]
    return sum(isinstance(prepare(one), PreparedUtterance) for one in elements if isinstance(one, Utterance))


if __name__ == "__main__":
    main()
