"""A candidate in a process of its own: it prepares its files, shows that it loads all clips, then loads by turns.

    python -m tests.bench.peers.process MODULE FOLDER CORPUS TUNED

reads a number of seconds from each line of its input, loads batches for so long, and answers with a line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tests.bench.measure import Measurement, descendants, tree_cpu_s
from tests.bench.peers.clips import Corpus, Load, Tally, check_epoch
from trainer.platform.allocator import tune_allocator

# Every loader works ahead, and goes on doing so after its turn: what it has ready is taken before the clock starts.
BATCHES_AHEAD, AHEAD_S = 16, 1.0


class Candidate:
    """The process as its parent sees it."""

    def __init__(self, module: str, *, folder: Path, corpus: Corpus, tuned: bool):
        folder.mkdir()
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, module, str(folder), json.dumps(corpus), str(int(tuned))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.padding: float | None = None  # the share of the frames of the last turn
        self._answer()

    def load(self, seconds: float) -> Measurement:
        """A turn of at least so many seconds.

        Raises:
            RuntimeError: the candidate failed.
        """
        _pipe(self._process.stdin).write(f"{seconds}\n".encode())
        _pipe(self._process.stdin).flush()
        answer = self._answer()
        self.padding = answer.pop("padding")
        return Measurement(**answer)

    def close(self) -> None:
        """End it, and the workers that it may leave behind."""
        for pid in descendants(self._process.pid)[::-1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError(self._log.read_text(errors="replace")[-4000:])
        return json.loads(line)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def main() -> None:
    """Serve the parent."""
    module, folder, corpus, tuned = sys.argv[1], Path(sys.argv[2]), Corpus(*json.loads(sys.argv[3])), sys.argv[4] == "1"
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    if tuned:
        print(tune_allocator())
    peer = importlib.import_module(f"tests.bench.peers.{module}")
    peer.prepare(folder, corpus)
    if peer.TOLERANCE is not None:
        check_epoch(peer.batches(folder, corpus, epochs=1), corpus, tolerance=peer.TOLERANCE)
    batches = iter(peer.batches(folder, corpus, epochs=None))
    print("{}", file=answers)
    for line in sys.stdin:
        print(json.dumps(_turn(batches, seconds=float(line))), file=answers)


def _turn(batches: Iterator[Load], *, seconds: float) -> dict[str, Any]:
    _take(batches, seconds=AHEAD_S, at_least=BATCHES_AHEAD)
    started_cpu_s, started_s = tree_cpu_s(os.getpid()), time.perf_counter()
    tallies = _take(batches, seconds=seconds, at_least=1)
    taken_s, cpu_s = time.perf_counter() - started_s, tree_cpu_s(os.getpid()) - started_cpu_s
    clips, frames, room_frames = (sum(column) for column in zip(*tallies, strict=True))
    padding = 1 - frames / room_frames if room_frames else None
    return {"clips": clips, "seconds": taken_s, "cpu_s": cpu_s, "padding": padding}


def _take(batches: Iterator[Load], *, seconds: float, at_least: int) -> list[Tally]:
    started_s, tallies = time.perf_counter(), list[Tally]()
    while time.perf_counter() < started_s + seconds or len(tallies) < at_least:
        tallies.append(next(batches).tally())
    return tallies


if __name__ == "__main__":
    main()
