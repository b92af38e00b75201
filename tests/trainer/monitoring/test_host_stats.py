"""The host's statistics, with a real process beside this one and with counters that the tests set."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from trainer.monitoring import host_stats
from trainer.monitoring.host_stats import HostMeter


class Machine:
    """A machine of four cores, whose counters the tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, usable: int = 4):
        self.now_s = self.own_s = self.every_s = 0.0
        monkeypatch.setattr(host_stats.psutil, "cpu_times", lambda: self._times(self.every_s))
        monkeypatch.setattr(host_stats.psutil, "cpu_count", lambda: 4)
        monkeypatch.setattr(host_stats, "usable_cores", lambda: usable)
        process: Any = SimpleNamespace(cpu_times=lambda: self._times(self.own_s))
        self.meter = HostMeter(process=process, clock=lambda: self.now_s)

    def run(self, seconds: float, *, own_cores: float, other_cores: float) -> None:
        self.now_s += seconds
        self.own_s += seconds * own_cores
        self.every_s += seconds * (own_cores + other_cores)

    @staticmethod
    def _times(busy_s: float) -> Any:
        return SimpleNamespace(user=busy_s / 2, nice=0.0, system=busy_s / 2)


def test_a_reading_is_of_the_time_since_the_one_before_and_the_total_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.run(10.0, own_cores=3.0, other_cores=0.5)
    first = machine.meter.read()
    machine.run(30.0, own_cores=1.0, other_cores=1.5)
    second, total = machine.meter.read(), machine.meter.total()
    assert (first.own_cores, first.other_cores) == (pytest.approx(3.0), pytest.approx(0.5))
    assert (second.own_cores, second.other_cores) == (pytest.approx(1.0), pytest.approx(1.5))
    assert (total.seconds, total.own_cores, total.other_cores) == (40.0, pytest.approx(1.5), pytest.approx(1.25))


def test_with_fewer_cores_than_the_machine_has_nothing_is_said_of_other_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(monkeypatch, usable=2)
    machine.run(10.0, own_cores=2.0, other_cores=2.0)
    stats = machine.meter.read()
    assert stats.other_cores is None
    assert set(stats.metrics()) == {"host_own_cores", "host_memory_free_mib"}


def scheduled_s(pid: int) -> float:
    """The time that the kernel's scheduler gave to a process of one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def test_a_program_that_takes_a_core_is_seen_from_outside_and_as_another_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as hog:
        try:
            watched, here = HostMeter(process=psutil.Process(hog.pid)), HostMeter()
            begun_s = scheduled_s(hog.pid)
            time.sleep(1.0)
            of_hog, of_here = watched.read(), here.read()
            hog_s = scheduled_s(hog.pid) - begun_s  # beside other tests, less than a second
        finally:
            hog.kill()
    assert of_hog.own_cores * of_hog.seconds == pytest.approx(hog_s, abs=0.1)
    assert of_hog.own_cores > 0
    assert of_here.own_cores < 0.5
    assert of_here.other_cores is None or of_here.other_cores > 0.9 * of_hog.own_cores - 0.1
    assert of_here.memory_free_mib == pytest.approx(psutil.virtual_memory().available / 2**20, rel=0.2)
    with pytest.raises(psutil.Error):
        watched.read()
