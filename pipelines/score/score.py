"""Scores the recordings of corpora by DNSMOS, in several processes."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from typing import NamedTuple

from pipelines.config import BuildConfig
from preprocess.corpora import read_corpus
from preprocess.isolated import ONE_THREAD, signal_name
from preprocess.utterance import Utterance

MAX_RECORDING_S = 300.0  # of work; a longer one does not end
PROCESS = "pipelines.score.process"
# What a source takes by these is not known before its recordings have scores.
_UNSELECTED: dict[str, object] = {"scores": {}, "max_utterances": None, "official_splits": False}


class Scored(NamedTuple):
    """An utterance, and the scores of its recording by name."""

    utterance: Utterance
    scores: Mapping[str, float] = {}
    problem: str = ""  # why the recording has no scores; empty if it has


def list_utterances(config: BuildConfig, *, known: Container[str]) -> Iterator[Utterance]:
    """Yield the utterances of all sources that are not known, each id once.

    A source's `scores` and `max_utterances` leave none out here.

    Raises:
        UserError: a corpus or a list of ids cannot be read.
    """
    seen = set[str]()
    for name, source in config.sources.items():
        for element in read_corpus(source.model_copy(update=_UNSELECTED), name=name):
            if isinstance(element, Utterance) and element.id not in known and element.id not in seen:
                seen.add(element.id)
                yield element


def score(utterances: Iterable[Utterance], *, max_duration_s: float, workers: int | None = None) -> Generator[Scored]:
    """Score the recording of each utterance; yield in their order.

    Args:
        max_duration_s: of a recording; a longer one is not decoded.
        workers: processes at a time; None: one for each core.
    """
    count = workers or os.cpu_count() or 1
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(ScoringProcess(max_duration_s=max_duration_s)) for _ in range(count)]
        idle = collections.deque(processes)
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(count))

        def score_one(utterance: Utterance) -> Scored:
            process = idle.popleft()
            try:
                return process.score(utterance)
            finally:
                idle.append(process)

        waiting = collections.deque[concurrent.futures.Future[Scored]]()
        try:
            for utterance in utterances:
                waiting.append(pool.submit(score_one, utterance))
                if len(waiting) > 2 * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            for process in processes if waiting else ():
                process.kill()


class ScoringProcess:
    """A process that scores one recording at a time, started when it is needed; a context manager, which ends it."""

    def __init__(self, *, max_duration_s: float):
        self._max_duration_s = max_duration_s
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ScoringProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def kill(self) -> None:
        """Kill the process, also while another thread waits for its answer."""
        if self._process is not None:
            self._process.kill()

    def score(self, utterance: Utterance) -> Scored:
        """Score one recording, which may crash its decoder or never end; the next one has a new process then."""
        if self._process is None:
            words = [sys.executable, "-P", "-m", PROCESS]
            self._process = subprocess.Popen(
                words, env=os.environ | ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        process = self._process
        limit = threading.Timer(MAX_RECORDING_S, process.kill)
        limit.start()
        try:
            line = self._ask(process, path=utterance.audio_path)
        finally:
            is_over = not limit.is_alive()
            limit.cancel()
        if line:
            return Scored(utterance, **json.loads(line))
        self._process = None
        code = process.wait()
        if code > 0:
            raise RuntimeError(f"{utterance.audio_path}: the process that scores it ended with exit code {code}")
        reason = f"not done within {MAX_RECORDING_S:.0f} s" if is_over else f"ended by {signal_name(-code)}"
        return Scored(utterance, problem=f"its decoder was {reason}")

    def _ask(self, process: subprocess.Popen[str], *, path: str) -> str:
        """The answer of the process; empty if the process ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{json.dumps({'path': path, 'max_duration_s': self._max_duration_s})}\n")
            process.stdin.flush()
        except BrokenPipeError:
            return ""
        return process.stdout.readline()
