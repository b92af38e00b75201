"""The timer of training steps, with a clock that the tests move and with devices that they hold up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from trainer.monitoring.step_timer import StepTimer, TimingWindow, merge_windows

FRAMES, CLIPS = 100.0, 4.0
COUNTS = np.array([FRAMES, CLIPS])


class Clock:
    """A clock that the tests move."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def batches(self, *waits_s: float) -> Iterator[int]:
        for number, wait_s in enumerate(waits_s):
            self.now_s += wait_s
            yield number


class Result:
    """Counts on a device: reading them blocks until the step is done."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        self.done.wait()
        return COUNTS


def slow_batches(seconds: float, *, count: int) -> Iterator[int]:
    for number in range(count):
        time.sleep(seconds)
        yield number


def test_a_wait_during_which_the_device_computes_is_no_stall() -> None:
    results = [Result(), Result()]
    with StepTimer(asynchronous=True) as timer:
        for number in timer.batches(slow_batches(0.1, count=2)):
            timer.record_step(results[number], compiled=False)
        for result in results:  # both batches were there before the first step was done
            result.done.set()
        window = timer.read()
    assert float(window.waits_s[0]) >= 0.1
    assert window.stalled_s == 0.0


def test_a_stall_is_the_time_in_which_the_device_has_nothing_to_do() -> None:
    results, idle_s = [Result(), Result()], []

    def batches() -> Iterator[int]:
        yield 0
        started_s = time.monotonic()
        results[0].done.set()
        time.sleep(0.5)
        idle_s.append(time.monotonic() - started_s)
        yield 1

    with StepTimer(asynchronous=True) as timer:
        for number in timer.batches(batches()):
            timer.record_step(results[number], compiled=False)
        results[1].done.set()
        window = timer.read()
    assert 0.25 <= window.stalled_s <= idle_s[0] + 0.01  # a busy machine may read late that the step is done


def test_recording_a_step_does_not_wait_for_the_device() -> None:
    result = Result()
    rescue = threading.Timer(60.0, result.done.set)  # of a loop that waits
    rescue.start()
    with StepTimer(asynchronous=True) as timer:
        for _ in timer.batches(iter(range(10))):
            timer.record_step(result, compiled=False)
        assert not result.done.is_set()
        rescue.cancel()
        result.done.set()
        assert timer.read().steps == 10


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


def test_compilation_and_validation_are_excluded() -> None:
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


def test_a_window_in_which_all_steps_compiled_has_no_rate() -> None:
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in timer.batches(clock.batches(1.0)):
            clock.now_s += 60.0
            timer.record_step(COUNTS, compiled=True)
        assert timer.read().metrics() == {}


def test_merged_windows_are_one_window_of_all_steps() -> None:
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


def test_the_cpu_time_of_waits_excludes_sleep() -> None:
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


def test_the_first_batch_of_each_stream_is_excluded() -> None:
    """A run opens a second stream after a batch that did not fit, or after a return to a checkpoint."""
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in range(2):
            for _ in timer.batches(clock.batches(5.0, 1.0)):
                clock.now_s += 3.0
                timer.record_step(COUNTS, compiled=False)
        window = timer.read()
    assert window.excluded_s("first batch") == 10.0
    assert list(window.waits_s) == [1.0, 1.0]


def test_what_a_device_computes_while_the_loop_compiles_is_no_training_time() -> None:
    """Steps of half a second on a device that still has four of them to do when the loop compiles for 30 s."""
    clock, results = Clock(), [Result() for _ in range(5)]
    with StepTimer(asynchronous=True, clock=clock) as timer:
        stream = timer.batches(iter(range(5)))
        for number in range(4):
            next(stream)
            timer.record_step(results[number], compiled=False)
        next(stream)
        clock.now_s += 30.0  # the call compiles, while the device does the four steps
        for result in results:
            result.done.set()
        timer.record_step(results[4], compiled=True)
        window = timer.read()
    assert window.excluded_s("compilation") == 30.0
    assert float(window.computes_s.sum()) == 0.0
    assert window.compute <= 1.0


def test_a_step_that_compiled_is_excluded_until_the_device_has_done_it() -> None:
    clock = Clock()

    class Late:
        """Counts of a step that the device does in two seconds."""

        def __array__(self, *_: object, **__: object) -> np.ndarray:
            clock.now_s += 2.0
            return COUNTS

    with StepTimer(asynchronous=True, clock=clock) as timer:
        next(timer.batches(iter(range(2))))
        clock.now_s += 10.0
        timer.record_step(Late(), compiled=True)
        window = timer.read()
    assert window.excluded_s("compilation") == 12.0
    assert window.seconds == pytest.approx(0.0, abs=1e-6)


def test_time_without_steps_is_no_training_time() -> None:
    """Seconds after the last step were once called Python's: by the end of the loop its input is closed."""
    clock = Clock()
    with StepTimer(asynchronous=False, clock=clock) as timer:
        for _ in timer.batches(clock.batches(1.0, 0.5)):
            clock.now_s += 1.0
            timer.record_step(COUNTS, compiled=False)
        assert timer.read().seconds == pytest.approx(2.5)
        clock.now_s += 9.0
        with timer.exclude("checkpoint"):
            clock.now_s += 4.0
        rest = timer.read()
    assert (rest.excluded_s("pause"), rest.excluded_s("checkpoint")) == (pytest.approx(9.0), pytest.approx(4.0))
    assert rest.seconds < 1e-6
    assert rest.metrics() == {}


def test_the_reason_of_a_pause_may_be_known_at_its_end() -> None:
    clock, reasons = Clock(), iter(["compilation"])
    with StepTimer(asynchronous=False, clock=clock) as timer:
        with timer.exclude(lambda: next(reasons)):  # type: ignore[arg-type, return-value]
            clock.now_s += 3.0
        with timer.exclude("validation"):
            clock.now_s += 4.0
        window = timer.read()
    assert (window.excluded_s("compilation"), window.excluded_s("validation"), window.excluded_s("pause")) == (3, 4, 0)
