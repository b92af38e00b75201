"""Timing of training steps: the wait for each batch, its computation, and the time that the device is idle.

    loop    ─ next() ── got, calls ──── next() ────────────── got, calls ───── …
    device  ─────────── ██████████ step 1 ███████████ done ── ████ step 2 ████ …
                                        ├────── wait ────────┤
                                                      ├ stall ┤

A wait is the time that the loop is blocked in `next()`. Stall counts only the part of the wait in which the device is
idle, because it has done all steps that were called.

On a CPU the call of a step returns when the step is done, so every wait is a stall. On a GPU the call returns early; a
separate thread then reads the counts of the step, a few bytes, to learn when the step is done, and the loop is never
held up. While the loop is blocked in `next()`, it calls no other step, so the end of the last step is exact to about
0.1 ms. At other times a read may be late by one step, which moves computing time to the neighbouring step and leaves
the sums as they are.

Three kinds of time are excluded from all rates and fractions: the wait for the first batch, steps in which XLA compiled
a program, and pauses of the training (validations, checkpoints, waits for other hosts, the end after the last step). A
step that was compiled is waited for; what the device computes of earlier steps while the loop compiles is no computing
time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np

READERS = 4  # threads that wait for the end of a step, so as many steps may be under way on the device

Counts = tuple[int, int]  # frames and clips of a step, without padding
Reason = Literal["first batch", "compilation", "validation", "checkpoint", "pause"]


class ExcludedTime(NamedTuple):
    """An interval that is excluded from the timing, and the reason."""

    reason: Reason
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


class _Step(NamedTuple):
    asked_s: float | None  # when `next()` was called; None for the first batch
    got_s: float
    compiled: bool
    done: Future[tuple[float, Counts]]


class _Times(NamedTuple):
    wait_s: float | None
    stall_s: float
    compute_s: float | None
    counts: Counts


class TimingWindow(NamedTuple):
    """Times of the steps between two readings."""

    seconds: float  # without excluded times
    steps: int
    frames: int  # without padding, of the steps without compilation
    clips: int  # of the steps without compilation
    waits_s: np.ndarray  # [steps after the first] float32, blocked in next()
    computes_s: np.ndarray  # [steps without compilation] float32, on the device
    stalled_s: float
    wait_cpu_s: float  # CPU time of all threads of the process during the waits
    excluded: tuple[ExcludedTime, ...]

    @property
    def stall(self) -> float:
        """The fraction of the time in which the device was idle for lack of data."""
        return self.stalled_s / self.seconds

    @property
    def compute(self) -> float:
        """The fraction of the time in which the device computed."""
        return float(self.computes_s.sum()) / self.seconds

    @property
    def wait(self) -> float:
        """The fraction of the time in which the loop waited for a batch, whether or not the device was busy."""
        return float(self.waits_s.sum()) / self.seconds

    def excluded_s(self, reason: str) -> float:
        """The seconds that were excluded for a reason."""
        return sum(one.seconds for one in self.excluded if one.reason == reason)

    def metrics(self) -> dict[str, float]:
        """Rates, fractions and milliseconds by name; empty if every step compiled a program."""
        if not len(self.computes_s):
            return {}
        return {
            "frames_per_second": self.frames / self.seconds,
            "clips_per_second": self.clips / self.seconds,
            "steps_per_second": len(self.computes_s) / self.seconds,
            "stall": self.stall,
            "wait": self.wait,
            "compute": self.compute,
            **_spread("wait", self.waits_s),
            **_spread("compute", self.computes_s),
        }


def merge_windows(windows: Sequence[TimingWindow]) -> TimingWindow:
    """Merge consecutive windows, one or more, into one."""
    return TimingWindow(
        seconds=sum(one.seconds for one in windows),
        steps=sum(one.steps for one in windows),
        frames=sum(one.frames for one in windows),
        clips=sum(one.clips for one in windows),
        waits_s=np.concatenate([one.waits_s for one in windows]),
        computes_s=np.concatenate([one.computes_s for one in windows]),
        stalled_s=sum(one.stalled_s for one in windows),
        wait_cpu_s=sum(one.wait_cpu_s for one in windows),
        excluded=tuple(one for window in windows for one in window.excluded),
    )


class StepTimer:
    """Times the steps of a loop: iterate over `batches`, call `record_step` for each, and `read` now and then."""

    def __init__(self, *, asynchronous: bool, clock: Callable[[], float] = time.monotonic):
        """`asynchronous` is True if the call of a step returns before the device has done the step."""
        self._clock, self.asynchronous = clock, asynchronous
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="step-end")
        self._asked_s: float | None = None
        self._got_s = self._done_s = self._since_s = clock()
        self._reset()

    def __enter__(self) -> StepTimer:
        return self

    def __exit__(self, *_: object) -> None:
        self._readers.shutdown(wait=False, cancel_futures=True)

    def batches(self, stream: Iterator[Any]) -> Iterator[Any]:
        """The stream; the wait for each batch is timed, and that for the first one is excluded."""
        is_first = True
        while True:
            cpu_s, asked_s = time.process_time(), self._clock()
            batch = next(stream, None)
            self._got_s = self._clock()
            if batch is None:
                return
            if is_first:
                is_first, self._asked_s = False, None
                self._excluded.append(ExcludedTime("first batch", asked_s, self._got_s))
            else:
                self._asked_s = asked_s
                self._wait_cpu_s += time.process_time() - cpu_s
            yield batch

    def record_step(self, counts: Any, *, compiled: bool) -> None:
        """Record that the step of the last batch was called.

        Args:
            counts: frames and clips [2] of the step, without padding; they are read once the step is done.
            compiled: True if the call compiled a program, so that its time is excluded.
        """
        if compiled:
            read = _counts(counts)  # until the step is done: its own time is no training time either
            called_s = self._clock()
            self._excluded.append(ExcludedTime("compilation", self._got_s, called_s))
        else:
            called_s = self._clock()
        if self.asynchronous and not compiled:
            done = self._readers.submit(self._observe, counts)
        else:
            done = Future()
            done.set_result((called_s, read if compiled else _counts(counts)))
        self._steps.append(_Step(self._asked_s, self._got_s, compiled, done))

    def _observe(self, counts: Any) -> tuple[float, Counts]:
        """The time at which a step is done, and its counts; blocks until then."""
        read = _counts(counts)
        return self._clock(), read

    @contextlib.contextmanager
    def exclude(self, reason: Reason | Callable[[], Reason] = "pause") -> Iterator[None]:
        """Exclude the time of the block, such as a validation; the steps before it are waited for first.

        Args:
            reason: why, or a function that returns it, which is called at the end of the block.
        """
        if self._steps:
            self._steps[-1].done.result()
        start_s = self._clock()
        try:
            yield
        finally:
            known = reason() if callable(reason) else reason
            self._excluded.append(ExcludedTime(known, start_s, self._clock()))

    def read(self) -> TimingWindow:
        """The window since the last reading; blocks until the device has done all steps."""
        compilations = [one for one in self._excluded if one.reason == "compilation"]
        times = [self._times(step, compilations=compilations) for step in self._steps]
        now_s = self._clock()
        if not self._steps:
            self._exclude_rest(now_s)
        counted = [one.counts for one in times if one.compute_s is not None]
        window = TimingWindow(
            seconds=max(now_s - self._since_s - sum(one.seconds for one in self._excluded), 1e-9),
            steps=len(self._steps),
            frames=sum(frames for frames, _ in counted),
            clips=sum(clips for _, clips in counted),
            waits_s=_array(one.wait_s for one in times),
            computes_s=_array(one.compute_s for one in times),
            stalled_s=sum(one.stall_s for one in times),
            wait_cpu_s=self._wait_cpu_s,
            excluded=tuple(self._excluded),
        )
        self._since_s = now_s
        self._reset()
        return window

    def _exclude_rest(self, now_s: float) -> None:
        """Exclude what is left of a window without steps, such as the end of the loop, in which its input is closed."""
        rest_s = now_s - self._since_s - sum(one.seconds for one in self._excluded)
        self._excluded.append(ExcludedTime("pause", now_s - rest_s, now_s))

    def _times(self, step: _Step, *, compilations: Sequence[ExcludedTime]) -> _Times:
        """The times of a step, without what it computed while the loop compiled; steps must be passed in order."""
        done_s, counts = step.done.result()
        free_s, self._done_s = self._done_s, max(self._done_s, done_s)
        begun_s, compute_s = max(step.got_s, free_s), None
        if not step.compiled:
            hidden_s = sum(max(0.0, min(done_s, one.end_s) - max(begun_s, one.start_s)) for one in compilations)
            compute_s = max(0.0, done_s - begun_s - hidden_s)
        if step.asked_s is None:
            return _Times(None, 0.0, compute_s, counts)
        stall_s = max(0.0, step.got_s - max(step.asked_s, free_s))
        return _Times(step.got_s - step.asked_s, stall_s, compute_s, counts)

    def _reset(self) -> None:
        self._steps: list[_Step] = []
        self._excluded: list[ExcludedTime] = []
        self._wait_cpu_s = 0.0


def _counts(counts: Any) -> Counts:
    frames, clips = np.asarray(counts)  # for a tensor this waits, with the interpreter lock released
    return int(frames), int(clips)


def _array(values_s: Iterable[float | None]) -> np.ndarray:
    return np.array([value for value in values_s if value is not None], np.float32)


def _spread(name: str, values_s: np.ndarray) -> dict[str, float]:
    """Median, 95th percentile and maximum in milliseconds; zeros if there are no values."""
    median, p95, most = np.percentile(values_s, [50, 95, 100]) * 1000 if len(values_s) else (0.0, 0.0, 0.0)
    return {f"{name}_median_ms": float(median), f"{name}_p95_ms": float(p95), f"{name}_max_ms": float(most)}
