"""Whether a GPU has units for the precision that a run computes in."""

from __future__ import annotations

import tensorflow as tf

from trainer.platform.gpu_support import dotted

# CUDA's compute capability from which on matrix products of a precision have units of their own
_FIRST = {"bfloat16": (8, 0), "float16": (7, 0)}


def slow_precision(precision: str) -> str | None:
    """What there is to say where a GPU computes in it more slowly than it could in another."""
    first = _FIRST.get(precision)
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        found = details.get("compute_capability")
        if first is None or found is None or found >= first:
            continue
        better = "float16" if found >= _FIRST["float16"] else "float32"
        return (
            f"GPU {number} ({details.get('device_name', 'unknown')}) is of compute capability {dotted(found)}, fast "
            f"{precision} begins with {dotted(first)}: slow as it is; model.precision={better} is faster there"
        )
    return None
