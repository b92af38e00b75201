"""Is all there that a training needs, and what to do where not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import tensorflow as tf

from shared.errors import UserError
from shared.examination import Check, looked_at, room_at
from trainer.gpu import remedy
from trainer.model.xtts import POLICIES
from trainer.precision import slow_precision
from trainer.process import usable_cores

ROOM_WANTED_GIB = 2.0


def examine(run: Path) -> Iterator[Check]:
    """What a training needs, one after another."""
    yield Check("TensorFlow", tf.__version__)
    yield looked_at("GPU", _gpus)
    yield looked_at("XLA", _compiled)
    yield Check("precision", _precisions())
    yield looked_at("disk for RUN", lambda: room_at(run, wanted_gib=ROOM_WANTED_GIB, variable="RUN"))


def _gpus() -> str:
    found = [tf.config.experimental.get_device_details(one) for one in tf.config.list_physical_devices("GPU")]
    if found:
        return ", ".join(one.get("device_name", "unknown") for one in found)
    if cards := _cards():
        raise UserError(f"TensorFlow does not see {', '.join(cards)}: {remedy()}, or CUDA_VISIBLE_DEVICES hides it")
    return f"none: training computes on {usable_cores()} cores, which suits `nano`"


def _cards(nvml: Any = pynvml) -> list[str]:
    """The GPUs that the driver knows; none where there is no driver."""
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return [str(nvml.nvmlDeviceGetName(handle)) for handle in handles]
    except nvml.NVMLError:
        return []


def _compiled() -> str:
    """Raises UserError where XLA lacks something, such as CUDA's libdevice."""
    product = tf.function(tf.linalg.matmul, jit_compile=True)
    try:
        product(tf.ones([64, 64]), tf.ones([64, 64])).numpy()
    except tf.errors.OpError as error:
        reason = error.message.partition("\n")[0]
        raise UserError(f"cannot compile here ({reason}); xla=false trains without it, and slower") from error
    return "compiles a product of matrices"


def _precisions() -> str:
    """Those that are computed in as fast as can be."""
    if not tf.config.list_physical_devices("GPU"):
        return "float32; in the others CPUs are slower"
    return ", ".join(one for one in POLICIES if slow_precision(one) is None)
