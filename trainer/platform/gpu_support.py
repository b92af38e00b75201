"""Check that TensorFlow can compile for the visible GPUs."""

from __future__ import annotations

import tensorflow as tf

from shared.errors import UserError

# The first CUDA version that compiles for Blackwell's compute capability; with an older one LLVM aborts the process.
_BLACKWELL, _FIRST_CUDA = (10, 0), (12, 8)


def check_gpu_support() -> None:
    """Check that XLA can compile for every visible GPU.

    Raises:
        UserError: a GPU is newer than the CUDA version that TensorFlow was built with.
    """
    built = tf.sysconfig.get_build_info().get("cuda_version")
    if built is None or tuple(map(int, built.split(".")[:2])) >= _FIRST_CUDA:
        return
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        found = details.get("compute_capability")
        if found is not None and found >= _BLACKWELL:
            raise UserError(
                f"GPU {number} ({details.get('device_name', 'unknown')}): TensorFlow {tf.__version__}, built with CUDA "
                f"{built}, cannot compile for compute capability {format_version(found)}; expected a GPU below "
                f"{format_version(_BLACKWELL)}, or a TensorFlow built with CUDA {format_version(_FIRST_CUDA)}; select "
                "other GPUs with CUDA_VISIBLE_DEVICES (-1 for none)"
            )


def format_version(version: tuple[int, ...]) -> str:
    """Format a version such as (8, 0) as "8.0"."""
    return ".".join(map(str, version))
