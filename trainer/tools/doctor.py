"""`myxtts-train doctor`: checks of what training needs, with advice for each that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import tensorflow as tf

from shared.errors import UserError
from shared.health_check import Check, free_space, run_check
from trainer.model.xtts import POLICIES
from trainer.monitoring.gpu_stats import missing_gpu_advice
from trainer.platform.gpu_precision import slow_precision_warning
from trainer.platform.gpu_support import check_gpu_support
from trainer.platform.process import usable_cores
from trainer.platform.tf_errors import is_out_of_memory, translate_errors

ROOM_WANTED_GIB = 2.0


def check_environment(run: Path) -> Iterator[Check]:
    """Run the checks, one after another."""
    yield Check("TensorFlow", tf.__version__)
    yield run_check("GPU", _gpus)
    yield run_check("XLA", _compiled)
    yield Check("precision", _precisions())
    yield run_check("disk for RUN", lambda: _room(run))


def _room(run: Path) -> str:
    room = free_space(run, required_gib=ROOM_WANTED_GIB, variable="RUN")
    return f"{room}; `make train` logs the size of checkpoints when it starts"


def _gpus() -> str:
    found = [tf.config.experimental.get_device_details(one) for one in tf.config.list_physical_devices("GPU")]
    if found:
        with translate_errors():
            tf.config.list_logical_devices()
        return ", ".join(one.get("device_name", "unknown") for one in found)
    if cards := _cards():
        raise UserError(
            f"TensorFlow does not see {', '.join(cards)}: {missing_gpu_advice()}, or CUDA_VISIBLE_DEVICES hides it"
        )
    return f"none: training computes on {usable_cores()} cores, which suits `nano`"


def _cards(nvml: Any = pynvml) -> list[str]:
    """The names of the GPUs that the driver knows; none without a driver.

    Raises:
        UserError: there is a driver, and it does not answer.
    """
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return [str(nvml.nvmlDeviceGetName(handle)) for handle in handles]
    except nvml.NVMLError as error:
        if error.value in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED):
            return []
        raise UserError(
            f"NVIDIA's driver does not answer ({error}); see `nvidia-smi`, or restart the machine"
        ) from error


def _compiled() -> str:
    """Raises UserError if XLA lacks a library, such as CUDA's libdevice, which only some functions need."""
    check_gpu_support()
    try:
        tf.function(_step_like, jit_compile=True)(tf.ones([64, 64])).numpy()
    except tf.errors.OpError as error:
        if is_out_of_memory(error):
            with translate_errors():
                raise
        reason = error.message.partition("\n")[0]
        raise UserError(f"cannot compile here ({reason}); xla=false trains without it, but slower") from error
    return "compiles products, powers, logarithms and their gradients"


def _step_like(x: tf.Tensor) -> tf.Tensor:
    """The gradient of operations for which XLA looks up kernel libraries."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.pow(tf.math.log1p(tf.exp(tf.tanh(x @ x))), 1.5)
    return tape.gradient(y, x)


def _precisions() -> str:
    """The precisions that the GPUs compute at full speed."""
    if not tf.config.list_physical_devices("GPU"):
        return "float32; in the others CPUs are slower"
    return ", ".join(one for one in POLICIES if slow_precision_warning(one) is None)
