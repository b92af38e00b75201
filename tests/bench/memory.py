"""Peak memory of a build, all its processes together, for a small and a large corpus.

python -m tests.bench.memory
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.corpus import make_corpus
from tests.bench.measure import descendants
from tests.bench.summary import add_row

SMALL, LARGE = 800, 6_400
LIMIT = 1.15
INTERVAL_S = 0.05


def main() -> None:
    """Print both peaks and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = {clips: peak_of_build(Path(folder), clips=clips) for clips in (SMALL, LARGE)}
    ratio = peaks[LARGE] / peaks[SMALL]
    figures = ", ".join(f"{clips} clips {peak / 2**20:.0f} MiB" for clips, peak in peaks.items())
    print(f"peak memory of a build with 2 workers: {figures}; ratio {ratio:.3f}, expected at most {LIMIT}")
    add_row(
        "memory",
        f"peak memory of a build of {LARGE:,} clips",
        measured=f"{ratio:.3f}",
        floor=f"of {SMALL:,} clips",
        bound=f"≤ {LIMIT}",
        met=ratio <= LIMIT,
    )


def peak_of_build(folder: Path, *, clips: int) -> int:
    """Peak memory in bytes."""
    root = make_corpus(folder / f"corpus{clips}", clips=clips)
    words = [
        *(sys.executable, "-c", "from pipelines.cli import main; main()"),
        *("build", "configs/preprocess_ljspeech.yaml", "--data", str(folder / f"data{clips}")),
        *(f"sources.ljspeech.root={root}", "tokenizer=tests/corpora/tokenizer.json", "workers=2"),
        "checks.min_duplicate_bits=null",  # its clips overlap
    ]
    return peak_rss(words)


def peak_rss(words: list[str]) -> int:
    """The largest sum of resident memory of a command and its descendants while it ran.

    Raises:
        RuntimeError: the command failed.
    """
    peak = 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_rss, descendants(process.pid))))
            time.sleep(INTERVAL_S)
        if process.returncode:
            raise RuntimeError(f"exit {process.returncode}: {process.stderr.read().decode() if process.stderr else ''}")
    return peak


def _rss(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
