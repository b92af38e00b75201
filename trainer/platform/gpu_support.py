"""Whether this TensorFlow can compile for the GPUs that it sees."""

from __future__ import annotations

import tensorflow as tf

from shared.errors import UserError

# CUDA's compute capability that a version of CUDA is the first to compile for; LLVM aborts the process where it cannot
_BLACKWELL, _FIRST_CUDA = (10, 0), (12, 8)


def check_capability() -> None:
    """Of all GPUs that are visible.

    Raises:
        UserError: one is newer than the CUDA that TensorFlow was built with.
    """
    built = tf.sysconfig.get_build_info().get("cuda_version")
    if built is None or tuple(map(int, built.split(".")[:2])) >= _FIRST_CUDA:
        return
    for number, gpu in enumerate(tf.config.list_physical_devices("GPU")):
        details = tf.config.experimental.get_device_details(gpu)
        found = details.get("compute_capability")
        if found is not None and found >= _BLACKWELL:
            raise UserError(
                f"GPU {number} ({details.get('device_name', 'unknown')}) is of compute capability {dotted(found)}, for "
                f"which TensorFlow {tf.__version__}, built with CUDA {built}, cannot compile; wanted one below "
                f"{dotted(_BLACKWELL)}, or a TensorFlow of CUDA {dotted(_FIRST_CUDA)}; CUDA_VISIBLE_DEVICES says which "
                "GPUs are used, -1 for none"
            )


def dotted(version: tuple[int, ...]) -> str:
    """As a version is written."""
    return ".".join(map(str, version))
