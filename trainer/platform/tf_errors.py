"""What TensorFlow says where a device is full, busy or broken, told to the user in one line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import tensorflow as tf

from shared.errors import UserError

_PLACE = re.compile(r"\{\{.*?\}\}\s*")  # where it happened, which names the GPU whatever the fault is
_OF_DEVICE = re.compile(r"CUDA|cuda[A-Z]|CUDNN|CUBLAS|GPU sync|Dst tensor is not initialized")
_OF_SYSTEM = re.compile(r"No space left on device|Disk quota exceeded|Too many open files")  # which is no GPU's
# the last: a copy found no room
_FULL = re.compile(r"out of memory|OUT_OF_MEMORY|_ALLOC_FAILED|Dst tensor is not initialized")


def is_device_error(error: Exception) -> bool:
    """Whether a device failed, or could not be had, and not what was asked of it."""
    return isinstance(error, tf.errors.OpError) and bool(_OF_DEVICE.search(_said(error)))


def is_system_error(error: Exception) -> bool:
    """Whether a disk is full, or a process has too many files open, which has the class of a full device."""
    return isinstance(error, tf.errors.OpError) and bool(_OF_SYSTEM.search(_said(error)))


def is_collective_error(error: Exception) -> bool:
    """Whether another device or host failed, for which this one waited."""
    return isinstance(error, tf.errors.OpError) and "Collective ops is aborted" in error.message


def is_compiler_error(error: Exception) -> bool:
    """Whether what compiles for XLA, a process of its own, ended badly."""
    return isinstance(error, tf.errors.OpError) and "ptxas" in error.message


def is_out_of_memory(error: Exception) -> bool:
    """Whether a device's memory does not suffice."""
    if is_system_error(error):
        return False
    if isinstance(error, tf.errors.ResourceExhaustedError):
        return True
    return isinstance(error, tf.errors.OpError) and is_device_error(error) and bool(_FULL.search(_said(error)))


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raises UserError in the place of what a device's fault raises."""
    try:
        yield
    except tf.errors.OpError as error:
        if is_system_error(error):
            raise UserError(
                f"{_first_line(error)}; make room (`df -h`), or allow more files (`ulimit -n`), and run it again"
            ) from error
        if is_out_of_memory(error):
            raise UserError(
                f"the device's memory is full ({_first_line(error)}); `nvidia-smi` tells who else uses it; end that, "
                "take a smaller model.size or input.global_frames_per_batch, or compute on the CPU: "
                "CUDA_VISIBLE_DEVICES=-1"
            ) from error
        if is_device_error(error):
            raise UserError(
                f"the GPU failed, or could not be had ({_first_line(error)}); `nvidia-smi` tells its state and who "
                "uses it; a training goes on from its last checkpoint; CUDA_VISIBLE_DEVICES=-1 takes the CPU"
            ) from error
        raise


def _said(error: tf.errors.OpError) -> str:
    return _PLACE.sub("", error.message)


def _first_line(error: tf.errors.OpError) -> str:
    return _said(error).strip().partition("\n")[0]
