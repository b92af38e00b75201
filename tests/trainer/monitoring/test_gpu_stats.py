"""The sampling of GPUs, with a fake driver that also fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pynvml
import pytest

from trainer.monitoring.gpu_stats import GpuSampler, GpuStats, _Sample
from trainer.monitoring.step_timer import ExcludedTime

GIB = 2**30
MIG = "MIG-12345678-aaaa"


class Driver:
    """A fake NVML with a list of utilisations, one for each sample; the last one repeats."""

    NVMLError = pynvml.NVMLError
    NVMLError_NotSupported = pynvml.NVMLError_NotSupported
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM
    NVML_PCIE_UTIL_RX_BYTES, NVML_PCIE_UTIL_TX_BYTES = pynvml.NVML_PCIE_UTIL_RX_BYTES, pynvml.NVML_PCIE_UTIL_TX_BYTES

    def __init__(
        self, percentages: list[float | Exception], *, gpus: int = 1, power: bool = True, pcie_error: int | None = None
    ):
        self.asked = self.asked_pcie = 0
        self._pcie_error = pcie_error
        self.shut_down = False
        self._percentages, self._gpus, self._power = percentages, gpus, power

    def nvmlInit(self) -> None:  # noqa: N802 (NVML's names)
        pass

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shut_down = True

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self._gpus

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:  # noqa: N802
        if uuid != MIG:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return 9

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle // 2}{handle}c0ffee-aaaa"

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return f"card {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(used=79 * GIB, total=80 * GIB)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        if not self._power:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return 250_000

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:  # noqa: N802
        return 1_500 if kind == pynvml.NVML_CLOCK_SM else 0

    def nvmlDeviceGetPcieThroughput(self, handle: int, counter: int) -> int:  # noqa: N802
        """KB/s."""
        self.asked_pcie += 1
        if self._pcie_error is not None:
            raise pynvml.NVMLError(self._pcie_error)
        return 3_072 if counter == pynvml.NVML_PCIE_UTIL_RX_BYTES else 1_024

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802
        value = self._percentages[min(self.asked, len(self._percentages) - 1)]
        self.asked += 1
        if handle == 9:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        if isinstance(value, Exception):
            raise value
        return SimpleNamespace(gpu=value)


class Memory:
    """TensorFlow's account of a GPU's memory: 3 GiB at most, 2 from the moment on at which it is to forget."""

    def __init__(self) -> None:
        self.peak_gib = {"GPU:0": 3, "GPU:1": 4}

    def get_memory_info(self, device: str) -> dict[str, int]:
        return {"current": GIB, "peak": self.peak_gib[device] * GIB}

    def reset_memory_stats(self, device: str) -> None:
        self.peak_gib[device] = 2


LOST = pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


def sampled(
    *percentages: float, power: bool = True, excluded: tuple[ExcludedTime, ...] = ()
) -> tuple[GpuSampler, list[GpuStats]]:
    """What was read after these samples, one at each tick of a clock; then the driver is gone, so there are no more."""
    ticks, driver = iter(range(1_000)), Driver([*percentages, LOST], power=power)
    with GpuSampler(
        used=1, nvml=driver, memory=Memory(), interval_s=0.001, clock=lambda: float(next(ticks))
    ) as sampler:
        wait_for(lambda: not sampler._thread.is_alive())
        return sampler, sampler.pop_stats(excluded)


def sampler_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "gpu-sampler"]


@pytest.fixture(autouse=True)
def _all_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_the_mean_is_that_of_the_samples() -> None:
    _, (use,) = sampled(90, 100, 80)
    # of memory not what NVML sees, the pool
    assert use == GpuStats(0, "card 0", 80 * 1024, 3 * 1024, 90.0, 250.0, 1500.0, 3.0, 1.0)
    assert use.metrics() == {
        "gpu0_utilisation": 90.0,
        "gpu0_memory_peak_mib": 3 * 1024,
        "gpu0_power_w": 250.0,
        "gpu0_clock_mhz": 1500.0,
        "gpu0_pcie_received_mib_s": 3.0,
        "gpu0_pcie_sent_mib_s": 1.0,
    }
    assert str(use) == "GPU 0 (card 0): 90.0 % busy, peak memory 3.0 of 80.0 GiB, 250 W, 1500 MHz"


def test_samples_within_and_just_after_a_compilation_do_not_count() -> None:
    # ticks 0 1 2 3 4 5; set apart is 1 to 2, and tick 3 still looks back on it
    _, (use,) = sampled(90, 0, 0, 40, 80, 100, excluded=(ExcludedTime("compilation", 0.5, 2.5),))
    assert use.utilisation == 90.0


def test_a_reading_without_samples_is_empty() -> None:
    sampler, _ = sampled(50, 60)
    assert sampler.pop_stats(()) == []


def test_the_total_is_over_all_readings() -> None:
    sampler, _ = sampled(10, 20)
    sampler._devices[0].samples[:] = [_Sample(9.0, {"utilisation": 60.0})]
    sampler.pop_stats(())
    assert sampler.session_stats()[0].utilisation == pytest.approx(30.0)


def test_a_gpu_without_power_readings_is_sampled_without_them() -> None:
    _, (use,) = sampled(70, 70, power=False)
    assert (use.power_w, use.utilisation) == (None, 70.0)
    assert "gpu0_power_w" not in use.metrics()


@pytest.mark.parametrize(
    "error", [pynvml.NVML_ERROR_NO_PERMISSION, pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND]
)
def test_a_driver_that_does_not_tell_of_pcie_is_asked_once_and_tells_the_rest(error: int) -> None:
    driver = Driver([50, 70, LOST], pcie_error=error)
    with GpuSampler(used=1, nvml=driver, memory=Memory(), interval_s=0.001) as sampler:
        wait_for(lambda: not sampler._thread.is_alive())
        (use,) = sampler.pop_stats(())
    assert (use.utilisation, use.power_w, use.clock_mhz) == (60.0, 250.0, 1500.0)
    assert use.pcie_received_mib_s is use.pcie_sent_mib_s is None
    assert driver.asked_pcie == 2  # for each direction


def test_a_driver_that_is_lost_is_reported_once_and_the_samples_stay() -> None:
    with GpuSampler(used=1, nvml=Driver([50, 70, LOST]), memory=Memory(), interval_s=0.001) as sampler:
        wait_for(lambda: not sampler._thread.is_alive())
        assert sampler.pop_stats(())[0].utilisation == 60.0
        assert sampler.pop_problem() == "GPU utilisation is no longer measured: NVML says GPU is lost"
        assert sampler.pop_problem() is None
        assert sampler.pop_stats(()) == []
    assert sampler.session_stats()[0].utilisation == 60.0


def test_the_thread_ends_with_the_block_also_by_an_error() -> None:
    driver = Driver([50])

    def fail() -> None:
        with GpuSampler(used=1, nvml=driver, interval_s=0.001):
            assert sampler_threads() != []
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert sampler_threads() == []
    assert driver.shut_down


def test_a_missing_library_is_reported_once() -> None:
    driver = Driver([])

    def fail() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    driver.nvmlInit = fail
    with GpuSampler(used=1, nvml=driver) as sampler:
        assert sampler.pop_problem() == "GPU utilisation is not measured: NVML says NVML Shared Library Not Found"
        assert sampler.pop_problem() is None
        assert sampler.pop_stats(()) == sampler.session_stats() == []
    assert sampler_threads() == []


@pytest.mark.parametrize(("libraries", "told"), [(None, "`make … GPU=1` adds"), (object(), "libraries are installed")])
def test_a_gpu_that_tensorflow_does_not_use_is_named_and_not_sampled(
    libraries: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver([50])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: libraries)
    with GpuSampler(used=0, nvml=driver, interval_s=0.001) as sampler:
        notice = str(sampler.pop_problem())
        assert "computes on the CPU; it does not see card 0 (" in notice
        assert told in notice
        assert sampler_threads() == []
    assert driver.asked == 0


def test_if_tensorflow_uses_some_of_the_gpus_none_is_sampled() -> None:
    driver = Driver([50], gpus=2)
    with GpuSampler(used=1, nvml=driver, interval_s=0.001) as sampler:
        assert "computes on 1 of 2 GPUs (card 0, card 1), and it is not known which" in str(sampler.pop_problem())
        assert sampler_threads() == []
        sampler.reset_peak_memory()
        assert sampler.session_stats() == []
    assert driver.asked == 0


def test_peak_memory_is_reset() -> None:
    sampler, _ = sampled(50, 60)
    assert sampler.session_stats()[0].memory_peak_mib == 3 * 1024
    sampler.reset_peak_memory()
    assert sampler.session_stats()[0].memory_peak_mib == 2 * 1024


def test_a_mig_instance_has_only_the_values_that_it_provides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", MIG)
    driver = Driver([50])
    with GpuSampler(used=1, nvml=driver, memory=Memory(), interval_s=0.001) as sampler:
        wait_for(lambda: driver.asked > 3)
        (use,) = sampler.pop_stats(())
        assert sampler.pop_problem() is None
    assert (use.utilisation, use.memory_peak_mib, use.power_w) == (None, 3 * 1024, 250.0)
    assert "utilisation unknown" in str(use)


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["card 0", "card 1", "card 2"]),
        ("2,0", ["card 2", "card 0"]),
        ("GPU-01c0ffee-aaaa", ["card 1"]),
        ("GPU-01, 2", ["card 1", "card 2"]),
        ("GPU-0,2", []),  # which of two is not said
        ("0,-1,1", ["card 0"]),
        ("2,7,1", ["card 2"]),
        ("1,,2", ["card 1"]),
        ("0,GPU-f,1", ["card 0"]),
        ("", []),
        ("-1", []),
        ("7", []),
    ],
)
def test_the_gpus_are_those_that_cuda_shows(
    visible: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with GpuSampler(used=len(names), nvml=Driver([50], gpus=3)) as sampler:
        assert [device.name for device in sampler._devices] == names
        assert [device.number for device in sampler._devices] == list(range(len(names)))
