"""What the GPUs do while training goes on: utilisation and power by NVML, memory by TensorFlow.

A thread samples every half second. NVML's own utilisation is the share of its last sample period, up to a second, in
which some kernel ran; samples taken in or shortly after time that is set apart (compilation, validation) are left out.
Of memory NVML would tell what TensorFlow holds, nearly all there is whatever the model; TensorFlow itself knows what
it needed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pynvml
import tensorflow as tf

from trainer.monitoring.step_timer import ExcludedTime

INTERVAL_S = 0.5
SAMPLE_PERIOD_S = 1.0  # NVML's longest


END_S = 5.0  # how long a driver that does not answer may hold up the end


class GpuStats(NamedTuple):
    """What a GPU did over a window; None is what could not be had."""

    number: int  # as TensorFlow counts
    name: str
    memory_total_mib: float
    memory_peak_mib: float  # in use by TensorFlow at once, so far
    utilisation: float | None  # percent, mean
    power_w: float | None  # mean

    def metrics(self) -> dict[str, float]:
        """What there is, by name."""
        values = {"utilisation": self.utilisation, "memory_peak_mib": self.memory_peak_mib, "power_w": self.power_w}
        return {f"gpu{self.number}_{name}": value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        busy = "utilisation unknown" if self.utilisation is None else f"{self.utilisation:.1f} % busy"
        power = "" if self.power_w is None else f", {self.power_w:.0f} W"
        memory = f"{self.memory_peak_mib / 1024:.1f} of {self.memory_total_mib / 1024:.1f} GiB"
        return f"GPU {self.number} ({self.name}): {busy}, {memory} needed at most{power}"


class _Sample(NamedTuple):
    at_s: float
    utilisation: float | None
    power_w: float | None


class _Tally:
    """Sums over samples, those of a long run too."""

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
    total: _Tally

    @property
    def tensorflow_name(self) -> str:
        return f"GPU:{self.number}"


class GpuSampler:
    """Samples the GPUs that TensorFlow sees, from entry to exit; where that cannot be done, a notice says why."""

    def __init__(
        self,
        *,
        used: int,
        nvml: Any = pynvml,
        memory: Any = tf.config.experimental,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ):
        """`used` is how many GPUs TensorFlow computes on."""
        self._used, self._nvml, self._memory, self._interval_s, self._clock = used, nvml, memory, interval_s, clock
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
            names = ", ".join(device.name for device in devices)
            self._notice = "GPU utilisation is not measured: TensorFlow computes on the CPU, GPUs of this machine: " + (
                f"{names} ({missing_gpu_advice()})" if names else "none that is visible"
            )
            return self
        if len(devices) != self._used:
            names = ", ".join(device.name for device in devices)
            self._notice = (
                f"GPU utilisation is not measured: TensorFlow computes on {self._used} of {len(devices)} GPUs "
                f"({names}) and which is not known; CUDA_VISIBLE_DEVICES says which are to be used"
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

    def pop_notice(self) -> str | None:
        """What there is to say about the sampling, once."""
        notice, self._notice = self._notice, None
        return notice

    def read(self, excluded: Sequence[ExcludedTime]) -> list[GpuStats]:
        """Each GPU's use since the last reading, outside of what is excluded."""
        uses = []
        for device in self._devices:
            samples = device.samples[:]
            del device.samples[: len(samples)]
            window = _Tally()
            for sample in samples:
                if not any(one.start_s <= sample.at_s <= one.end_s + SAMPLE_PERIOD_S for one in excluded):
                    window.add(sample)
                    device.total.add(sample)
            if samples:
                uses.append(self._use(device, window))
        return uses

    def totals(self) -> list[GpuStats]:
        """Each GPU's use over all readings."""
        return [self._use(device, device.total) for device in self._devices]

    def reset_peak_memory(self) -> None:
        """Tell of memory as if it had been used from now on only."""
        for device in self._devices:
            self._memory.reset_memory_stats(device.tensorflow_name)

    def _use(self, device: _Device, tally: _Tally) -> GpuStats:
        utilisation = tally.utilisation_sum / tally.utilisations if tally.utilisations else None
        power_w = tally.power_sum / tally.powers if tally.powers else None
        peak_mib = self._memory.get_memory_info(device.tensorflow_name)["peak"] / 2**20
        return GpuStats(device.number, device.name, device.memory_total_mib, peak_mib, utilisation, power_w)

    def _run(self) -> None:
        try:
            while not self._ended.wait(self._interval_s):
                for device in self._devices:
                    device.samples.append(self._sample(device.handle))
        except self._nvml.NVMLError as error:
            self._notice = f"GPU utilisation is no longer measured: NVML says {error}"

    def _sample(self, handle: Any) -> _Sample:
        rates = self._told(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        power_mw = self._told(self._nvml.nvmlDeviceGetPowerUsage, handle)
        utilisation = None if rates is None else float(rates.gpu)
        return _Sample(self._clock(), utilisation, None if power_mw is None else power_mw / 1000)

    def _told(self, ask: Callable[[Any], Any], handle: Any) -> Any:
        """The answer, None where such a device, a part of a GPU for one, has none."""
        try:
            return ask(handle)
        except self._nvml.NVMLError_NotSupported:
            return None

    def _handles(self) -> Iterator[Any]:
        """NVML's handles of the GPUs that CUDA shows to this process, in CUDA's order by PCI bus.

        Of CUDA_VISIBLE_DEVICES it takes what stands before the first word that means no device.
        """
        every = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(self._nvml.nvmlDeviceGetCount())]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is None:
            yield from every
            return
        for word in map(str.strip, visible.split(",")):
            handle = self._handle(word, every=every)
            if handle is None:
                return
            yield handle

    def _handle(self, word: str, *, every: Sequence[Any]) -> Any:
        """Of a number, of a UUID or how it begins, or of a part of a GPU; None of anything else."""
        if word.startswith("MIG-"):
            return self._nvml.nvmlDeviceGetHandleByUUID(word)
        if word.startswith("GPU-"):
            found = [one for one in every if self._nvml.nvmlDeviceGetUUID(one).startswith(word)]
            return found[0] if len(found) == 1 else None
        return every[int(word)] if word.isdecimal() and int(word) < len(every) else None

    def _describe(self, number: int, handle: Any) -> _Device:
        total_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**20
        return _Device(number, self._nvml.nvmlDeviceGetName(handle), total_mib, handle, [], _Tally())


def missing_gpu_advice() -> str:
    """What to do where TensorFlow sees no GPU of a machine that has one."""
    if importlib.util.find_spec("nvidia") is None:
        return "`make … GPU=1` adds CUDA's libraries"
    return "CUDA's libraries are there: with TF_CPP_MIN_LOG_LEVEL=1 before the command TensorFlow says why it has none"
