"""Waits, stalls and computation, against a device of threads that notes itself when it stood idle."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from trainer.monitoring.step_timer import StepTimer, TimingWindow, merge_windows

FRAMES, CLIPS = 100.0, 4.0
COUNTS = np.array([FRAMES, CLIPS])


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def batches(self, *waits_s: float) -> Iterator[int]:
        for number, wait_s in enumerate(waits_s):
            self.now_s += wait_s
            yield number


class Device:
    """Does what is handed over, one after the other, while the loop goes on; knows when it had nothing to do."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[float, Result] | None] = queue.SimpleQueue()
        self.idle_s: list[float] = []  # before each piece of work
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            since_s = time.monotonic()
            piece = self._work.get()
            if piece is None:
                return
            self.idle_s.append(time.monotonic() - since_s)
            time.sleep(piece[0])
            piece[1].done.set()

    def compute(self, seconds: float) -> Result:
        result = Result()
        self._work.put((seconds, result))
        return result

    def stop(self) -> None:
        self._work.put(None)
        self._thread.join()


class Result:
    """Counts on the device: whoever reads them waits for the step."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        self.done.wait()
        return COUNTS


def slow_batches(seconds: float, *, count: int) -> Iterator[int]:
    for number in range(count):
        time.sleep(seconds)
        yield number


def asynchronous(*, load_s: float, compute_s: float, steps: int = 12) -> tuple[TimingWindow, Device]:
    """A loop that runs ahead of its device."""
    device = Device()
    try:
        with StepTimer(asynchronous=True) as timer:
            for _ in timer.batches(slow_batches(load_s, count=steps)):
                timer.record_step(device.compute(compute_s), compiled=False)
            return timer.read(), device
    finally:
        device.stop()


def test_a_wait_behind_which_the_device_computes_is_no_stall() -> None:
    window, device = asynchronous(load_s=0.01, compute_s=0.04)
    assert window.wait > 0.15  # the loop was blocked
    assert sum(device.idle_s[1:]) < 0.02
    assert window.stall < 0.05


def test_a_stall_is_the_time_in_which_the_device_had_nothing_to_do() -> None:
    window, device = asynchronous(load_s=0.05, compute_s=0.01)
    idle_s = sum(device.idle_s[1:])
    print(f"stalled {window.stalled_s:.4f} s, device idle {idle_s:.4f} s")
    assert idle_s > 0.3
    assert window.stalled_s == pytest.approx(idle_s, rel=0.1)
    assert window.stall > 0.5
    assert float(np.median(window.computes_s)) == pytest.approx(0.01, abs=0.005)


def test_the_loop_is_not_held_up_by_the_reading() -> None:
    device = Device()
    try:
        with StepTimer(asynchronous=True) as timer:
            started_s = time.monotonic()
            for _ in timer.batches(iter(range(10))):
                timer.record_step(device.compute(0.05), compiled=False)
            handed_over_s = time.monotonic() - started_s
            window = timer.read()
    finally:
        device.stop()
    assert handed_over_s < 0.2
    assert sum(window.computes_s) == pytest.approx(0.5, rel=0.2)


def test_on_a_cpu_every_wait_is_a_stall_and_the_rest_is_computation() -> None:
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in timer.batches(clock.batches(5.0, 1.0, 2.0, 0.0)):
            clock.now_s += 3.0
            timer.record_step(COUNTS, compiled=False)
        window = timer.read()
    assert window.excluded_s("first batch") == 5.0
    assert window.seconds == pytest.approx(4 * 3.0 + 1.0 + 2.0)
    assert list(window.waits_s) == [1.0, 2.0, 0.0]
    assert list(window.computes_s) == [3.0] * 4
    assert window.stall == window.wait == pytest.approx(3.0 / 15.0)
    assert window.metrics()["frames_per_second"] == pytest.approx(4 * FRAMES / 15.0)
    assert window.metrics()["clips_per_second"] == pytest.approx(4 * CLIPS / 15.0)
    assert window.metrics()["steps_per_second"] == pytest.approx(4 / 15.0)


def test_compilation_and_validation_are_no_training() -> None:
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for number in timer.batches(clock.batches(0.0, 1.0, 1.0)):
            clock.now_s += 60.0 if number == 0 else 2.0
            timer.record_step(COUNTS, compiled=number == 0)
            with timer.exclude():
                clock.now_s += 10.0
        window = timer.read()
    assert (window.excluded_s("compilation"), window.excluded_s("pause")) == (60.0, 30.0)
    assert window.seconds == pytest.approx(6.0)
    assert window.stall == pytest.approx(2.0 / 6.0)
    assert window.frames == 2 * FRAMES


def test_a_stretch_in_which_all_steps_compiled_has_no_rate() -> None:
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in timer.batches(clock.batches(1.0)):
            clock.now_s += 60.0
            timer.record_step(COUNTS, compiled=True)
        assert timer.read().metrics() == {}


def test_readings_joined_are_one_reading_of_all() -> None:
    waits_s = [0.5, 1.0, 0.25, 2.0, 0.125, 4.0]

    def read(every: int) -> TimingWindow:
        clock, windows = Clock(), []
        with StepTimer(asynchronous=False, clock=clock) as timer:
            for number in timer.batches(clock.batches(*waits_s)):
                clock.now_s += 1.0
                timer.record_step(COUNTS, compiled=False)
                if (number + 1) % every == 0:
                    windows.append(timer.read())
        return merge_windows(windows)

    once, often = read(6), read(2)
    assert once.metrics() == pytest.approx(often.metrics())
    assert (once.steps, once.excluded) == (often.steps, often.excluded)
    assert list(once.waits_s) == list(often.waits_s) == waits_s[1:]


def test_the_processors_work_during_a_wait_is_told_from_sleep() -> None:
    def spin() -> Iterator[float]:
        for seconds in (0.0, 0.2, 0.2):
            until_s = time.process_time() + seconds
            while time.process_time() < until_s:
                pass
            yield seconds

    def waited(stream: Iterator[object]) -> TimingWindow:
        with StepTimer(asynchronous=False) as timer:
            for _ in timer.batches(stream):
                timer.record_step(COUNTS, compiled=False)
            return timer.read()

    busy, asleep = waited(spin()), waited(slow_batches(0.1, count=3))
    assert busy.wait_cpu_s == pytest.approx(0.4, abs=0.1)
    assert asleep.wait_cpu_s < 0.05


def test_a_stream_that_is_entered_again_fills_up_before_its_waits_count() -> None:
    """As after a batch that did not fit, or a return to a checkpoint."""
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in range(2):
            for _ in timer.batches(clock.batches(5.0, 1.0)):
                clock.now_s += 3.0
                timer.record_step(COUNTS, compiled=False)
        window = timer.read()
    assert window.excluded_s("first batch") == 10.0
    assert list(window.waits_s) == [1.0, 1.0]
