"""Classify TensorFlow's errors, and translate those about devices and disks into one-line messages."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import tensorflow as tf

from shared.errors import UserError

_NODE = re.compile(r"\{\{.*?\}\}\s*")  # graph node, which names the GPU whatever the error is
_DEVICE = re.compile(r"CUDA|cuda[A-Z]|CUDNN|CUBLAS|GPU sync|Dst tensor is not initialized")
_SYSTEM = re.compile(
    r"No space left on device|Disk quota exceeded|Too many open files"
)  # errors of the operating system, not of a GPU
# the last pattern: no memory for a copy to the device
_OUT_OF_MEMORY = re.compile(r"out of memory|OUT_OF_MEMORY|_ALLOC_FAILED|Dst tensor is not initialized")


# Errors of a disk or a network that may be over when it is read again.
_MOMENTARY = (
    tf.errors.AbortedError,  # ESTALE, of a network file system
    tf.errors.DeadlineExceededError,  # ETIMEDOUT
    tf.errors.UnavailableError,
    tf.errors.UnknownError,
)


def is_device_error(error: Exception) -> bool:
    """Return True if a device failed or is unavailable."""
    return isinstance(error, tf.errors.OpError) and bool(_DEVICE.search(_message(error)))


def is_system_error(error: Exception) -> bool:
    """Return True for a full disk or too many open files, which TensorFlow reports like a full device."""
    return isinstance(error, tf.errors.OpError) and bool(_SYSTEM.search(_message(error)))


def is_momentary(error: Exception) -> bool:
    """Return True for an error of a disk or a network that may be over when it is read again."""
    return isinstance(error, _MOMENTARY) and not is_device_error(error)


def is_collective_error(error: Exception) -> bool:
    """Return True if a collective operation failed because of another device or host."""
    return isinstance(error, tf.errors.OpError) and "Collective ops is aborted" in error.message


def is_compiler_error(error: Exception) -> bool:
    """Return True if ptxas, the process that compiles for XLA, failed."""
    return isinstance(error, tf.errors.OpError) and "ptxas" in error.message


def is_out_of_memory(error: Exception) -> bool:
    """Return True if a device ran out of memory."""
    if is_system_error(error):
        return False
    if isinstance(error, tf.errors.ResourceExhaustedError):
        return True
    return (
        isinstance(error, tf.errors.OpError) and is_device_error(error) and bool(_OUT_OF_MEMORY.search(_message(error)))
    )


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Context manager that turns errors of devices and disks into UserError."""
    try:
        yield
    except tf.errors.OpError as error:
        if is_system_error(error):
            raise UserError(
                f"{first_line(error)}; free disk space (`df -h`), or allow more open files (`ulimit -n`), and run the "
                "same command again"
            ) from error
        if is_out_of_memory(error):
            raise UserError(
                f"the device's memory is full ({first_line(error)}); `nvidia-smi` shows who else uses it; end that "
                "process, lower model.size or input.global_frames_per_batch, or use the CPU: CUDA_VISIBLE_DEVICES=-1"
            ) from error
        if is_device_error(error):
            raise UserError(
                f"the GPU failed or is unavailable ({first_line(error)}); `nvidia-smi` shows its state and who uses "
                "it; training resumes from its last checkpoint; CUDA_VISIBLE_DEVICES=-1 selects the CPU"
            ) from error
        raise


def _message(error: tf.errors.OpError) -> str:
    return _NODE.sub("", error.message)


def first_line(error: tf.errors.OpError) -> str:
    """Return the first line of an error's message, without the node of the graph."""
    return _message(error).strip().partition("\n")[0]
