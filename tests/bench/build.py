"""Build throughput against a bare loop of the same utterance function.

    python -m tests.bench.build

The floor is what one core needs for the utterances alone: read, decode, mel, tokens. What Beam, framing, hashes,
manifests and fsync add is the distance to 1; two workers on two cores may pass 1.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from pipelines.build import build_dataset
from pipelines.shards import preparation
from preprocess.corpora import read_corpus
from preprocess.record import Prepared
from preprocess.utterance import Utterance
from tests.bench.corpus import bench_config
from tests.bench.measure import interleaved, report

CLIPS = 1_600
REPEATS = 3


def main() -> None:
    """Print the table."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        config = bench_config(Path(folder), clips=CLIPS)
        prepare = preparation(config)

        def bare() -> int:
            elements = read_corpus(config.sources["bench"], name="bench")
            outcomes = [isinstance(prepare(one), Prepared) for one in elements if isinstance(one, Utterance)]
            return sum(outcomes)

        def build(workers: int) -> int:
            info = build_dataset(config.model_copy(update={"workers": workers}), data=Path(folder) / f"data{workers}")
            return info.sources["bench"].written

        candidates = {
            "bare loop of the utterance function, 1 core": bare,
            "build, in memory": lambda: build(1),
            "build, 2 worker processes (start included)": lambda: build(2),
        }
        results = interleaved(candidates, repeats=REPEATS)
    print(report(f"build of {CLIPS} clips", results, floor=next(iter(candidates))))


if __name__ == "__main__":
    main()
