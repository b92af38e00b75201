"""The assessment of the input: the measurements decide the advice."""

from __future__ import annotations

import re

import numpy as np
import pytest

from trainer.config.data_config import InputConfig
from trainer.monitoring.input_verdict import InputStats, assess_input, input_stats
from trainer.monitoring.step_timer import TimingWindow
from trainer.platform.process import Reading

SLOW = InputStats(steps=200, stall=0.3, busy_cores=0.1, cores=8, storage_mb_per_s=40.0, from_storage=0.9)


def told(*, stores_mels: bool = True, **changed: object) -> str:
    return assess_input(SLOW._replace(**changed), config=InputConfig(), stores_mels=stores_mels)


def stretch_of(waits_s: list[float], *, wait_cpu_s: float = 0.0) -> TimingWindow:
    """Steps of a second each, on a CPU."""
    waits, computes = np.array(waits_s, np.float32), np.ones(len(waits_s), np.float32)
    waited_s = float(waits.sum())
    return TimingWindow(len(waits) + waited_s, len(waits), 0, 0, waits, computes, waited_s, wait_cpu_s, ())


def test_up_to_two_percent_the_input_keeps_up() -> None:
    assert told(stall=0.02) == "input keeps up: stall 2.0%, expected at most 2%"
    assert told(stall=0.021).startswith("input-bound: stall 2.1%, expected at most 2%; ")


def test_a_few_steps_are_not_assessed() -> None:
    assert told(steps=19) == "input stall 30.0% in 19 timed steps, too few to assess the input"


def test_sleeping_readers_and_a_busy_disk_call_for_more_readers_and_a_faster_disk() -> None:
    assert re.search(r"kept 0\.1 of 8 cores busy, and storage gave 40 MB/s: raise input\.\w+ .* faster disk", told())


def test_without_measurements_of_the_disk_no_cause_is_named() -> None:
    for changed in ({"storage_mb_per_s": None, "from_storage": None}, {"storage_mb_per_s": 0.0, "from_storage": 0.0}):
        words = told(**changed)
        assert "over a network" in words
        assert "other programs" in words
        assert "faster disk" not in words


def test_busy_cores_call_for_more_of_them() -> None:
    assert "more cores" in told(busy_cores=7.5)


def test_free_cores_call_for_more_readers_where_storage_gives_little() -> None:
    assert "cores are free; raise input." in told(busy_cores=1.0, from_storage=0.1)
    assert "faster disk" in told(busy_cores=1.0)


@pytest.mark.parametrize("busy_cores", [0.1, 1.0, 7.9])
def test_computed_mels_should_be_stored(busy_cores: float) -> None:
    words = told(stores_mels=False, busy_cores=busy_cores)
    assert words.endswith("store them instead (`mel_dtype=float16` and `make preprocess`)")
    assert "input." not in words


def test_a_slow_disk_is_named_with_chunks_of_any_size() -> None:
    """A disk that takes twice as long for a chunk as the device: all waiting is at the ends of chunks."""
    for batches in (5, 50, 500):
        waits_s = ([float(batches)] + [0.0] * (batches - 1)) * 4
        stats = input_stats(stretch_of(waits_s), Reading(read_bytes=10**9, storage_bytes=10**9))
        assert stats.stall == 0.5
        assert "faster disk" in assess_input(stats._replace(cores=8), config=InputConfig(), stores_mels=True)


@pytest.mark.parametrize("busy_cores", [0.1, 1.0, 7.9])
@pytest.mark.parametrize("from_storage", [None, 0.0, 1.0])
def test_every_setting_that_is_named_exists(busy_cores: float, from_storage: float | None) -> None:
    words = told(busy_cores=busy_cores, from_storage=from_storage)
    assert set(re.findall(r"input\.(\w+)", words)) <= InputConfig.model_fields.keys()


def test_the_measurements_are_those_of_the_waits() -> None:
    stats = input_stats(stretch_of([1.0] * 100, wait_cpu_s=150.0), Reading(read_bytes=10**9, storage_bytes=4 * 10**8))
    assert (stats.steps, stats.stall, stats.busy_cores) == (100, 0.5, 1.5)
    assert (stats.storage_mb_per_s, stats.from_storage) == (2.0, 0.4)
