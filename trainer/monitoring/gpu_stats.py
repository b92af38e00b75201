"""GPU statistics during training: utilisation, power, clock and PCIe by NVML, peak memory by TensorFlow.

A thread samples NVML every half second. NVML's utilisation is the fraction of its last sample period, at most a second,
in which a kernel ran; samples during or shortly after an excluded time (compilation, validation) are left out. Memory
comes from TensorFlow, because NVML counts all that TensorFlow reserves, which is nearly the whole GPU.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pynvml
import tensorflow as tf

from trainer.monitoring.step_timer import ExcludedTime
from trainer.platform.visible_gpus import visible_handles

INTERVAL_S = 0.5
SAMPLE_PERIOD_S = 1.0  # the longest that NVML averages over
JOIN_TIMEOUT_S = 5.0  # for a driver that does not answer


class GpuStats(NamedTuple):
    """Statistics of a GPU over some time; None is a value that the driver does not provide."""

    number: int  # in TensorFlow's order
    name: str
    memory_total_mib: float
    memory_peak_mib: float  # most that TensorFlow had in use at once so far
    utilisation: float | None  # percent, mean
    power_w: float | None  # mean
    clock_mhz: float | None = None  # of the multiprocessors, mean: lower where heat or a power limit slows them down
    pcie_received_mib_s: float | None = None  # from the host, mean
    pcie_sent_mib_s: float | None = None  # to the host, mean

    def metrics(self) -> dict[str, float]:
        """The values that are known, by name."""
        values = {name: getattr(self, name) for name in ("memory_peak_mib", *_QUERIES)}
        return {f"gpu{self.number}_{name}": value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        busy = "utilisation unknown" if self.utilisation is None else f"{self.utilisation:.1f} % busy"
        power = "" if self.power_w is None else f", {self.power_w:.0f} W"
        clock = "" if self.clock_mhz is None else f", {self.clock_mhz:.0f} MHz"
        memory = f"{self.memory_peak_mib / 1024:.1f} of {self.memory_total_mib / 1024:.1f} GiB"
        return f"GPU {self.number} ({self.name}): {busy}, peak memory {memory}{power}{clock}"


# What NVML is asked for, by the names of GpuStats' means. The counters of PCIe run for 20 ms while the thread waits.
_QUERIES: dict[str, Callable[[Any, Any], float]] = {
    "utilisation": lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
    "power_w": lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
    "clock_mhz": lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
    "pcie_received_mib_s": lambda nvml, gpu: nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_RX_BYTES) / 1024,
    "pcie_sent_mib_s": lambda nvml, gpu: nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_TX_BYTES) / 1024,
}

# A driver may refuse these for any reason; sampling goes on without them.
_OPTIONAL = {"clock_mhz", "pcie_received_mib_s", "pcie_sent_mib_s"}


class _Sample(NamedTuple):
    at_s: float
    values: dict[str, float]  # those that the device provides


class _Means:
    """The means of samples, by name; a value that some samples lack is the mean of the others."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, sample: _Sample) -> None:
        for name, value in sample.values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1

    def get(self) -> dict[str, float | None]:
        """The mean of each value; None for one that no sample has."""
        return {name: self._sums[name] / self._counts[name] if name in self._sums else None for name in _QUERIES}


class _Device(NamedTuple):
    number: int
    name: str
    memory_total_mib: float
    handle: Any
    samples: list[_Sample]
    total: _Means

    @property
    def tensorflow_name(self) -> str:
        return f"GPU:{self.number}"


class GpuSampler:
    """Samples the GPUs that TensorFlow sees while it is entered; `pop_problem` gives the reason if it cannot."""

    def __init__(
        self,
        *,
        used: int,
        nvml: Any = pynvml,
        memory: Any = tf.config.experimental,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`used` is the number of GPUs that TensorFlow computes on."""
        self._used, self._nvml, self._memory, self._interval_s, self._clock = used, nvml, memory, interval_s, clock
        self._devices: list[_Device] = []
        self._refused: set[str] = set()  # what the driver does not tell, and is not asked for again
        self._problem: str | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu-sampler", daemon=True)

    def __enter__(self) -> GpuSampler:
        try:
            self._nvml.nvmlInit()
            devices = [self._describe(number, handle) for number, handle in enumerate(visible_handles(self._nvml))]
        except self._nvml.NVMLError as error:
            self._problem = f"GPU utilisation is not measured: NVML says {error}"
            return self
        if not self._used:
            names = ", ".join(device.name for device in devices)
            gpus = f"it does not see {names} ({missing_gpu_advice()})" if names else "no GPU is visible"
            self._problem = f"GPU utilisation is not measured: TensorFlow computes on the CPU; {gpus}"
            return self
        if len(devices) != self._used:
            names = ", ".join(device.name for device in devices)
            self._problem = (
                f"GPU utilisation is not measured: TensorFlow computes on {self._used} of {len(devices)} GPUs "
                f"({names}), and it is not known which; list them in CUDA_VISIBLE_DEVICES"
            )
            return self
        self._devices = devices
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_TIMEOUT_S)
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def pop_problem(self) -> str | None:
        """Why GPUs are not, or no longer, sampled; None where that was returned already, or they are sampled."""
        problem, self._problem = self._problem, None
        return problem

    def pop_stats(self, excluded: Sequence[ExcludedTime]) -> list[GpuStats]:
        """Statistics of each GPU since the last call, without the samples of excluded times."""
        stats = []
        for device in self._devices:
            samples = device.samples[:]
            del device.samples[: len(samples)]
            window = _Means()
            for sample in samples:
                if not any(one.start_s <= sample.at_s <= one.end_s + SAMPLE_PERIOD_S for one in excluded):
                    window.add(sample)
                    device.total.add(sample)
            if samples:
                stats.append(self._stats(device, window))
        return stats

    def session_stats(self) -> list[GpuStats]:
        """Statistics of each GPU since the sampler was entered, up to the last call of pop_stats."""
        return [self._stats(device, device.total) for device in self._devices]

    def reset_peak_memory(self) -> None:
        """Reset peak-memory statistics."""
        for device in self._devices:
            self._memory.reset_memory_stats(device.tensorflow_name)

    def _stats(self, device: _Device, means: _Means) -> GpuStats:
        peak_mib = self._memory.get_memory_info(device.tensorflow_name)["peak"] / 2**20
        return GpuStats(device.number, device.name, device.memory_total_mib, peak_mib, **means.get())

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._interval_s):
                for device in self._devices:
                    device.samples.append(self._sample(device.handle))
        except self._nvml.NVMLError as error:
            self._problem = f"GPU utilisation is no longer measured: NVML says {error}"

    def _sample(self, handle: Any) -> _Sample:
        values: dict[str, float] = {}
        for name, query in _QUERIES.items():
            if name in self._refused:
                continue
            try:
                values[name] = float(query(self._nvml, handle))
            except self._nvml.NVMLError_NotSupported:  # as by a MIG instance
                continue
            except self._nvml.NVMLError:  # such as: no permission; a lost GPU fails at the next question, too
                if name not in _OPTIONAL:
                    raise
                self._refused.add(name)
        return _Sample(self._clock(), values)

    def _describe(self, number: int, handle: Any) -> _Device:
        total_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
        return _Device(number, self._nvml.nvmlDeviceGetName(handle), total_mib, handle, [], _Means())


def missing_gpu_advice() -> str:
    """Advice for a machine with a GPU that TensorFlow does not see."""
    if importlib.util.find_spec("nvidia") is None:
        return "`make … GPU=1` adds CUDA's libraries"
    return "CUDA's libraries are installed: with TF_CPP_MIN_LOG_LEVEL=1 before the command TensorFlow logs the reason"
