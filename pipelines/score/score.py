"""Runs a network on the recordings of corpora, in several processes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pipelines.config import BuildConfig
from preprocess.corpora import read_corpus
from preprocess.isolated import ONE_THREAD, signal_name
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError

MAX_WAIT_S = 300.0  # and MAX_WAITS times the longest recording; work that takes longer does not end
MAX_WAITS = 10.0
_HUNG = "took too long, and was given up"
PROCESS = "pipelines.score.process"
# What a source takes by these is not known before its recordings have scores.
_UNSELECTED: dict[str, object] = {"scores": {}, "max_utterances": None}


class Scored(NamedTuple):
    """An utterance and its scores."""

    utterance: Utterance
    scores: Mapping[str, Any] = {}  # by column; what a network answered; empty if there is none
    problem: str = ""  # why the recording has no scores; empty if it has


def list_elements(config: BuildConfig) -> Iterator[Utterance | Rejection]:
    """Yield the utterances of all sources, each id once, and the rejections of their other rows.

    A source's `scores` and `max_utterances` leave none out here.

    Raises:
        UserError: a corpus or a list of ids cannot be read.
    """
    seen = set[str]()
    for name, source in config.sources.items():
        for element in read_corpus(source.model_copy(update=_UNSELECTED), name=name):
            if isinstance(element, Rejection):
                yield element
            elif element.id not in seen:
                seen.add(element.id)
                yield element


def score(
    utterances: Iterable[Utterance], *, network: str, max_duration_s: float, workers: int | None = None
) -> Generator[Scored]:
    """Score the recording of each utterance; yield each when it is done.

    Args:
        network: its name in `pipelines.score.process`.
        max_duration_s: of a recording; a longer one is not decoded.
        workers: processes at a time; None: one for each core.

    Raises:
        UserError: a process could not be started.
    """
    count = workers or len(os.sched_getaffinity(0))
    idle: queue.SimpleQueue[ScoringProcess] = queue.SimpleQueue()
    processes = [ScoringProcess(network, max_duration_s=max_duration_s) for _ in range(count)]
    for process in processes:
        idle.put(process)

    def score_one(utterance: Utterance) -> Scored:
        process = idle.get()
        try:
            return process.score(utterance)
        finally:
            idle.put(process)

    with (
        contextlib.ExitStack() as last,
        concurrent.futures.ThreadPoolExecutor(count) as pool,
        contextlib.ExitStack() as first,
    ):
        for process in processes:
            first.callback(process.close)  # also ends the work that an interrupt leaves behind
            last.callback(process.reap)
        running = set[concurrent.futures.Future[Scored]]()
        for utterance in utterances:
            running.add(pool.submit(score_one, utterance))
            if len(running) > 2 * count:
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in concurrent.futures.as_completed(running))


class ScoringProcess:
    """A process that scores one recording at a time, and is started when one is needed."""

    def __init__(self, network: str, *, max_duration_s: float):
        self._network, self._max_duration_s = network, max_duration_s
        self._lock, self._is_closed = threading.Lock(), False
        self._process: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End the process, also while another thread waits for its answer, and start no other one."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()

    def reap(self) -> None:
        """Wait for the end of the process that was closed, and close its pipes."""
        if self._process is not None:
            _reap(self._process)

    def score(self, utterance: Utterance) -> Scored:
        """Score one recording, which may crash its decoder or never end.

        An older process may end for what an earlier recording did to it: then a new one is asked.

        Raises:
            UserError: the process ends before it takes a recording.
        """
        is_new = self._process is None
        scored = self._score_once(utterance)
        has_ended = self._process is None
        return self._score_once(utterance) if has_ended and not is_new and scored.problem != _HUNG else scored

    def _score_once(self, utterance: Utterance) -> Scored:
        process = self._started()
        if process is None:
            return Scored(utterance, problem="interrupted")
        is_over = threading.Event()

        def end() -> None:
            is_over.set()
            process.kill()

        limit = threading.Timer(MAX_WAIT_S + MAX_WAITS * self._max_duration_s, end)
        limit.start()
        line = _ask(process, path=utterance.audio_path, max_duration_s=self._max_duration_s)
        limit.cancel()
        if line.endswith("\n"):
            return Scored(utterance, **json.loads(line))
        code = self._ended(process)
        if is_over.is_set():
            return Scored(utterance, problem=_HUNG)
        return Scored(utterance, problem=f"the process that scored it ended {_how(code)}")

    def _started(self) -> subprocess.Popen[str] | None:
        """A process that waits for a recording; None after `close`."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:  # ended between two recordings
                _reap(self._process)
                self._process = None
            if self._is_closed or self._process is not None:
                return None if self._is_closed else self._process
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROCESS, self._network],
                env=os.environ | ONE_THREAD,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for this process, which ends that one
            )
        assert process.stdout is not None
        if not process.stdout.readline():
            code = self._ended(process)
            if not self._is_closed:
                raise UserError(
                    f"{PROCESS}: ended {_how(code)} before it took a recording; expected enough memory for each of "
                    "the --workers, and the packages of the network as they were installed"
                )
            return None
        return process

    def _ended(self, process: subprocess.Popen[str]) -> int:
        """The exit code of a process that has ended, or soon will."""
        with self._lock:
            self._process = None
        return _reap(process)


def _how(code: int) -> str:
    """How a process ended, by its exit code."""
    return f"by {signal_name(-code)}" if code < 0 else f"with exit code {code}"


def _ask(process: subprocess.Popen[str], *, path: str, max_duration_s: float) -> str:
    """The answer of a process; empty if the process ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{json.dumps({'path': path, 'max_duration_s': max_duration_s})}\n")
        process.stdin.flush()
        return process.stdout.readline()
    except BrokenPipeError:
        return ""


def _reap(process: subprocess.Popen[str]) -> int:
    """The exit code of a process whose pipes are of no more use; one that does not end is killed."""
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    try:
        return process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
