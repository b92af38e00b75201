"""Bringing TensorFlow in: the allocator before it, the GPUs as they are wanted, without its notes about itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

from trainer.platform.allocator import tune_allocator

Gpus = Literal["whole", "as needed", "hidden"]

# Written by its C++ side before any log level holds; everything else that it writes is passed on.
_NOTES = r"absl::InitializeLog\(\) is called|Could not find cuda drivers|failed call to cuInit"

_FILTER = """
import re, sys
notes = re.compile(sys.argv[1].encode())
for line in sys.stdin.buffer:
    if not notes.search(line):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
"""

FILTER_END_S = 5.0


def start_tensorflow(
    *, plain_malloc: bool = False, gpus: Gpus = "whole", init_devices: bool = True, check_compiler: bool = True
) -> str:
    """Import TensorFlow and let it look for devices; what was done about the allocator, in words.

    Of each GPU's memory TensorFlow takes nearly the whole at once, or as much as it comes to need; then another
    process may use the same GPU. A process that is not alone takes them when it meets the others, and not before.

    Raises:
        UserError: a GPU is there and cannot be had, or not be compiled for.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read once: with warnings there would be more of them later
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the numbers that NVML and nvidia-smi use
    if gpus == "hidden":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    allocator = "allocator: as it is (--plain-malloc)" if plain_malloc else tune_allocator()
    with _without_notes():
        import tensorflow as tf

        from trainer.platform.gpu_support import check_gpu_support
        from trainer.platform.tf_errors import translate_errors

        with translate_errors():
            if check_compiler:
                check_gpu_support()
            for gpu in tf.config.list_physical_devices("GPU") if gpus == "as needed" else ():
                tf.config.experimental.set_memory_growth(gpu, True)
            if init_devices:
                tf.config.list_logical_devices()
            else:
                tf.config.list_physical_devices()
    return allocator


@contextlib.contextmanager
def _without_notes() -> Iterator[None]:
    """Pass on what is written to the file of stderr, all lines but the known notes.

    By a process of its own: where TensorFlow aborts this one, its last words are still to be read.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    words = [sys.executable, "-I", "-S", "-c", _FILTER, _NOTES]
    passing = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    assert passing.stdin is not None
    os.dup2(passing.stdin.fileno(), 2)
    passing.stdin.close()
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        with contextlib.suppress(subprocess.TimeoutExpired):  # whom a child of ours still tells something
            passing.wait(FILTER_END_S)
