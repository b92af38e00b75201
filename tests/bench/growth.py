"""Cost of a build after a change of the corpus or the config, against the first build of the same clips.

    python -m tests.bench.growth [clips]

Each build is a process of its own, as a user starts it. Its CPU time includes its start, its workers and the report.
Rates are those of further clips: the same changes of a small corpus take what starting takes. The grown datasets are
compared with builds from nothing, file by file.

The floor of "1 % more" is to read all records and to write them again with their sha256: every shard gains a clip.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from shared.layout import Layout
from shared.publication import read_checksums
from tests.bench.corpus import make_corpus
from tests.bench.summary import add_row

CLIPS, SHORT = 20_000, 1_000
COPYING = "copying"
THRESHOLD = "checks.min_snr_db=25"


class Cost(NamedTuple):
    """Wall time and CPU time of one build with its child processes, and the number of clips of its corpus."""

    clips: int
    seconds: float
    cpu_s: float


class Bound(NamedTuple):
    """What a change may cost: a share of the first build's CPU time, or a rate of further clips per second."""

    share: float | None = None
    clips_per_s: float | None = None


BOUNDS = {
    "unchanged": Bound(clips_per_s=20_000),
    "another threshold": Bound(clips_per_s=5_000),
    "1 % more": Bound(share=0.03),
    "25 % more": Bound(share=0.3),
}


def main(clips: int = CLIPS) -> None:
    """Measure a small corpus and a large one, and print a line for each kind of change."""
    with tempfile.TemporaryDirectory() as folder:
        small = measure_changes(Path(folder) / "small", clips=SHORT)
        large = measure_changes(Path(folder) / "large", clips=clips)
    floor = large.pop(COPYING).cpu_s / large["first build"].cpu_s
    print(f"reading and writing all records with their sha256: {floor:.1%} of the first build's CPU time", flush=True)
    for what, cost in large.items():
        share = cost.cpu_s / large["first build"].cpu_s
        rate = (cost.clips - small[what].clips) / max(cost.seconds - small[what].seconds, 1e-3)
        facts = (
            f"{cost.clips:>7,} clips {cost.seconds:7.1f} s {cost.cpu_s:7.1f} CPU-s, {share:6.1%} of the first build's"
        )
        print(f"{what:18} {facts}; further clips {rate:,.0f}/s", flush=True)
        if what in BOUNDS:
            _add_row(what, share=share, rate=rate, clips=clips, floor=floor)


def _add_row(what: str, *, share: float, rate: float, clips: int, floor: float) -> None:
    bound, name = BOUNDS[what], f"build of {clips:,} clips again, {what}"
    if bound.share is not None:
        limit, met = f"≤ {bound.share:.0%}", share <= bound.share
        measured = f"{share:.1%} of the first build's CPU"
        add_row(
            "growth",
            name,
            measured=measured,
            floor=f"{floor:.1%}: all records of the first build copied",
            bound=limit,
            met=met,
        )
    elif bound.clips_per_s is not None:
        limit, met = f"≥ {bound.clips_per_s:,.0f}/s", rate >= bound.clips_per_s
        add_row("growth", name, measured=f"{rate:,.0f} further clips/s", bound=limit, met=met)


def measure_changes(folder: Path, *, clips: int) -> dict[str, Cost]:
    """Build a corpus, then change one thing after another and build again."""
    corpus, data = GrowingCorpus(folder, clips=clips + clips // 4), folder / "data"
    costs = {"first build": corpus.build(data, clips=clips)}
    costs["unchanged"] = corpus.build(data, clips=clips)
    costs["another threshold"] = corpus.build(data, THRESHOLD, clips=clips)
    corpus.build(data, clips=clips)
    costs["1 % more"] = corpus.build(data, clips=clips + clips // 100)
    costs["25 % more"] = corpus.build(data, clips=clips + clips // 4)
    corpus.build(folder / "fresh", clips=clips + clips // 4)
    copied = copy_records(Layout(data).shard("any").parent, to=folder / "copy", clips=clips)
    costs[COPYING] = copied._replace(cpu_s=copied.cpu_s * clips / (clips + clips // 4))
    sums = [read_checksums(Layout(one).success) for one in (data, folder / "fresh")]
    print(
        f"{clips:,} clips, grown and built from nothing: {'equal' if sums[0] == sums[1] else 'DIFFERENT'}", flush=True
    )
    return costs


def copy_records(folder: Path, *, to: Path, clips: int) -> Cost:
    """Read each file of a folder, and write it again with its sha256."""
    to.mkdir()
    started_s, cpu_s = time.perf_counter(), time.process_time()
    for path in folder.iterdir():
        with path.open("rb") as source, (to / path.name).open("wb") as target:
            digest = hashlib.sha256()
            while block := source.read(1 << 20):
                digest.update(block)
                target.write(block)
    return Cost(clips, time.perf_counter() - started_s, time.process_time() - cpu_s)


class GrowingCorpus:
    """A corpus in LJSpeech's layout whose metadata lists the first of its clips."""

    def __init__(self, folder: Path, *, clips: int):
        self._root = make_corpus(folder / "corpus", clips=clips)
        self._rows = (self._root / "metadata.csv").read_text(encoding="utf-8").splitlines()
        self._config = folder / "bench.yaml"
        self._config.write_text(
            f"sources: {{bench: {{reader: ljspeech, root: {self._root}, language: eng_Latn}}}}\n"
            "tokenizer: tests/corpora/tokenizer.json\n"
            "checks: {min_duplicate_bits: null}\n"  # its clips overlap
        )

    def build(self, data: Path, *overrides: str, clips: int) -> Cost:
        """List so many clips and build."""
        (self._root / "metadata.csv").write_text("\n".join(self._rows[:clips]) + "\n", encoding="utf-8")
        command = [Path(sys.executable).with_name("myxtts-data"), "build", self._config, *overrides, "--data", data]
        before_s, started_s = _cpu_s(), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return Cost(clips, time.perf_counter() - started_s, _cpu_s() - before_s)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
