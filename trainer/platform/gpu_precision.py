"""Warn if the GPU has no fast hardware units for the configured precision."""

from __future__ import annotations

import tensorflow as tf

from trainer.platform.gpu_support import format_version

# The first compute capability with hardware matrix units (tensor cores) for each precision.
_FIRST = {"bfloat16": (8, 0), "float16": (7, 0)}


def slow_precision_warning(precision: str) -> str | None:
    """Return a warning if a visible GPU computes faster in another precision, else None."""
    first = _FIRST.get(precision)
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        found = details.get("compute_capability")
        if first is None or found is None or found >= first:
            continue
        better = "float16" if found >= _FIRST["float16"] else "float32"
        name, capability = details.get("device_name", "unknown"), format_version(found)
        return (
            f"GPU {number} ({name}): compute capability {capability} has no fast {precision}, which needs "
            f"{format_version(first)}; set model.precision={better}, which is faster there"
        )
    return None
