"""GPU statistics during training: utilisation and power by NVML, peak memory by TensorFlow.

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

    def metrics(self) -> dict[str, float]:
        """The values that are known, by name."""
        values = {"utilisation": self.utilisation, "memory_peak_mib": self.memory_peak_mib, "power_w": self.power_w}
        return {f"gpu{self.number}_{name}": value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        busy = "utilisation unknown" if self.utilisation is None else f"{self.utilisation:.1f} % busy"
        power = "" if self.power_w is None else f", {self.power_w:.0f} W"
        memory = f"{self.memory_peak_mib / 1024:.1f} of {self.memory_total_mib / 1024:.1f} GiB"
        return f"GPU {self.number} ({self.name}): {busy}, peak memory {memory}{power}"


class _Sample(NamedTuple):
    at_s: float
    utilisation: float | None
    power_w: float | None


class _Sums:
    """Sums over samples."""

    def __init__(self) -> None:
        self.utilisations, self.utilisation_sum = 0, 0.0
        self.powers, self.power_sum = 0, 0.0

    def add(self, sample: _Sample) -> None:
        if sample.utilisation is not None:
            self.utilisations, self.utilisation_sum = self.utilisations + 1, self.utilisation_sum + sample.utilisation
        if sample.power_w is not None:
            self.powers, self.power_sum = self.powers + 1, self.power_sum + sample.power_w


class _Device(NamedTuple):
    number: int
    name: str
    memory_total_mib: float
    handle: Any
    samples: list[_Sample]
    total: _Sums

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
            window = _Sums()
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

    def _stats(self, device: _Device, sums: _Sums) -> GpuStats:
        utilisation = sums.utilisation_sum / sums.utilisations if sums.utilisations else None
        power_w = sums.power_sum / sums.powers if sums.powers else None
        peak_mib = self._memory.get_memory_info(device.tensorflow_name)["peak"] / 2**20
        return GpuStats(device.number, device.name, device.memory_total_mib, peak_mib, utilisation, power_w)

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._interval_s):
                for device in self._devices:
                    device.samples.append(self._sample(device.handle))
        except self._nvml.NVMLError as error:
            self._problem = f"GPU utilisation is no longer measured: NVML says {error}"

    def _sample(self, handle: Any) -> _Sample:
        rates = self._query(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        power_mw = self._query(self._nvml.nvmlDeviceGetPowerUsage, handle)
        utilisation = None if rates is None else float(rates.gpu)
        return _Sample(self._clock(), utilisation, None if power_mw is None else power_mw / 1000)

    def _query(self, query: Callable[[Any], Any], handle: Any) -> Any:
        """The answer of NVML; None if the device does not provide it, as a MIG instance."""
        try:
            return query(handle)
        except self._nvml.NVMLError_NotSupported:
            return None

    def _describe(self, number: int, handle: Any) -> _Device:
        total_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
        return _Device(number, self._nvml.nvmlDeviceGetName(handle), total_mib, handle, [], _Sums())


def missing_gpu_advice() -> str:
    """Advice for a machine with a GPU that TensorFlow does not see."""
    if importlib.util.find_spec("nvidia") is None:
        return "`make … GPU=1` adds CUDA's libraries"
    return "CUDA's libraries are installed: with TF_CPP_MIN_LOG_LEVEL=1 before the command TensorFlow logs the reason"
