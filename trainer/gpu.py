"""What the GPUs do while training goes on, by NVML: utilisation, memory, power.

A thread samples every half second. NVML's own utilisation is the share of its last sample period, up to a second, in
which some kernel ran; samples taken in or shortly after time that is set apart (compilation, validation) are left out.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pynvml

from trainer.waiting import Apart

INTERVAL_S = 0.5
SAMPLE_PERIOD_S = 1.0  # NVML's longest


END_S = 5.0  # how long a driver that does not answer may hold up the end


class Use(NamedTuple):
    """What a GPU did over a stretch; None is what could not be had."""

    number: int  # as TensorFlow counts
    name: str
    memory_total_mib: float
    memory_peak_mib: float
    utilisation: float | None  # percent, mean
    power_w: float | None  # mean

    def figures(self) -> dict[str, float]:
        """What there is, by name."""
        values = {"utilisation": self.utilisation, "memory_peak_mib": self.memory_peak_mib, "power_w": self.power_w}
        return {f"gpu{self.number}_{name}": value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        busy = "utilisation unknown" if self.utilisation is None else f"{self.utilisation:.1f} % busy"
        power = "" if self.power_w is None else f", {self.power_w:.0f} W"
        memory = f"{self.memory_peak_mib / 1024:.1f} of {self.memory_total_mib / 1024:.1f} GiB"
        return f"GPU {self.number} ({self.name}): {busy}, {memory} at most{power}"


class _Sample(NamedTuple):
    at_s: float
    utilisation: float
    memory_mib: float
    power_w: float | None


class _Tally:
    """Sums over samples, those of a long run too."""

    def __init__(self) -> None:
        self.utilisations, self.utilisation_sum = 0, 0.0
        self.powers, self.power_sum = 0, 0.0
        self.memory_peak_mib = 0.0

    def add(self, sample: _Sample, *, counts: bool) -> None:
        self.memory_peak_mib = max(self.memory_peak_mib, sample.memory_mib)
        if counts:
            self.utilisations, self.utilisation_sum = self.utilisations + 1, self.utilisation_sum + sample.utilisation
        if counts and sample.power_w is not None:
            self.powers, self.power_sum = self.powers + 1, self.power_sum + sample.power_w


class _Device(NamedTuple):
    number: int
    name: str
    memory_total_mib: float
    handle: Any
    samples: list[_Sample]
    total: _Tally

    def use(self, tally: _Tally) -> Use:
        utilisation = tally.utilisation_sum / tally.utilisations if tally.utilisations else None
        power_w = tally.power_sum / tally.powers if tally.powers else None
        return Use(self.number, self.name, self.memory_total_mib, tally.memory_peak_mib, utilisation, power_w)


class GpuSampler:
    """Samples the GPUs that TensorFlow sees, from entry to exit; where that cannot be done, a notice says why."""

    def __init__(
        self,
        *,
        used: bool,
        nvml: Any = pynvml,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`used` where TensorFlow computes on a GPU."""
        self._used, self._nvml, self._interval_s, self._clock = used, nvml, interval_s, clock
        self._devices: list[_Device] = []
        self._notice: str | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu-sampler", daemon=True)

    def __enter__(self) -> GpuSampler:
        try:
            self._nvml.nvmlInit()
            devices = [self._describe(number, handle) for number, handle in enumerate(self._handles())]
        except self._nvml.NVMLError as error:
            self._notice = f"GPU utilisation is not measured: NVML says {error}"
            return self
        if not self._used:
            names = ", ".join(device.name for device in devices) or "none that is visible"
            self._notice = (
                f"GPU utilisation is not measured: TensorFlow computes on the CPU, GPUs of this machine: {names} "
                "(`make … GPU=1` adds CUDA's libraries)"
            )
            return self
        self._devices = devices
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(END_S)
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def take_notice(self) -> str | None:
        """What there is to say about the sampling, once."""
        notice, self._notice = self._notice, None
        return notice

    def read(self, apart: Sequence[Apart]) -> list[Use]:
        """Each GPU's use since the last reading, outside of what is set apart."""
        uses = []
        for device in self._devices:
            samples = device.samples[:]
            del device.samples[: len(samples)]
            stretch = _Tally()
            for sample in samples:
                counts = not any(one.start_s <= sample.at_s <= one.end_s + SAMPLE_PERIOD_S for one in apart)
                stretch.add(sample, counts=counts)
                device.total.add(sample, counts=counts)
            if samples:
                uses.append(device.use(stretch))
        return uses

    def totals(self) -> list[Use]:
        """Each GPU's use over all readings."""
        return [device.use(device.total) for device in self._devices]

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._interval_s):
                for device in self._devices:
                    device.samples.append(self._sample(device.handle))
        except self._nvml.NVMLError as error:
            self._notice = f"GPU utilisation is no longer measured: NVML says {error}"

    def _sample(self, handle: Any) -> _Sample:
        utilisation = float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        memory_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).used / 2**20
        try:
            power_w = self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000
        except self._nvml.NVMLError_NotSupported:
            power_w = None
        return _Sample(self._clock(), utilisation, memory_mib, power_w)

    def _handles(self) -> Iterator[Any]:
        """NVML's handles of the GPUs that CUDA shows to this process, in CUDA's order by PCI bus."""
        every = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(self._nvml.nvmlDeviceGetCount())]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is None:
            yield from every
            return
        for word in filter(None, visible.split(",")):
            if word.strip().startswith(("GPU-", "MIG-")):
                yield self._nvml.nvmlDeviceGetHandleByUUID(word.strip())
            elif word.strip().isdigit() and int(word) < len(every):
                yield every[int(word)]

    def _describe(self, number: int, handle: Any) -> _Device:
        total_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
        return _Device(number, self._nvml.nvmlDeviceGetName(handle), total_mib, handle, [], _Tally())
