"""The NVIDIA GPUs that CUDA shows to this process, by NVML (the driver's library), before TensorFlow is imported."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pynvml


class GpuModel(NamedTuple):
    """What the programs that XLA compiles for a GPU depend on."""

    name: str
    driver: str  # version of NVIDIA's driver
    is_divided: bool = False  # MIG divides the GPU into instances, and CUDA shows one of them


def visible_models(nvml: Any = pynvml) -> list[GpuModel]:
    """The models of the visible GPUs, in CUDA's order by PCI bus; none without NVIDIA's driver, or if it fails."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip() in ("", "-1"):
        return []  # the driver takes seconds to start
    with contextlib.suppress(nvml.NVMLError), contextlib.ExitStack() as stack:
        nvml.nvmlInit()
        stack.callback(nvml.nvmlShutdown)
        return [_model(handle, nvml=nvml) for handle in visible_handles(nvml)]
    return []


def visible_handles(nvml: Any) -> Iterator[Any]:
    """NVML's handles of the GPUs that CUDA shows to this process, in CUDA's order by PCI bus.

    NVML knows nothing of CUDA_VISIBLE_DEVICES, and TensorFlow has no public name for a GPU that NVML knows. CUDA uses
    the entries of that variable up to the first one that means no device.
    """
    every = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        yield from every
        return
    for entry in map(str.strip, visible.split(",")):
        handle = _handle(entry, every=every, nvml=nvml)
        if handle is None:
            return
        yield handle


def _handle(entry: str, *, every: Sequence[Any], nvml: Any) -> Any:
    """The handle for an entry: an index, the beginning of a UUID, or the UUID of a MIG instance; else None."""
    if entry.startswith("MIG-"):
        return nvml.nvmlDeviceGetHandleByUUID(entry)
    if entry.startswith("GPU-"):
        found = [one for one in every if nvml.nvmlDeviceGetUUID(one).startswith(entry)]
        return found[0] if len(found) == 1 else None
    return every[int(entry)] if entry.isdecimal() and int(entry) < len(every) else None


def _model(handle: Any, *, nvml: Any) -> GpuModel:
    name, driver = str(nvml.nvmlDeviceGetName(handle)), str(nvml.nvmlSystemGetDriverVersion())
    return GpuModel(name, driver, is_divided=_is_divided(handle, nvml=nvml))


def _is_divided(handle: Any, *, nvml: Any) -> bool:
    """True for an instance of a GPU, and for a GPU that is divided into instances."""
    try:
        return bool(nvml.nvmlDeviceIsMigDeviceHandle(handle) or nvml.nvmlDeviceGetMigMode(handle)[0])
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound):
        return False
