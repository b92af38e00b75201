"""Import TensorFlow: tune the allocator first, configure the GPUs, and hide TensorFlow's start-up notes."""

from __future__ import annotations

import gc
import os
import sys
from typing import Literal

from trainer.platform.allocator import tune_allocator
from trainer.platform.first_calls import enable_program_cache
from trainer.platform.gpu_autotuning import reduce_autotuning
from trainer.platform.log_filter import hide_notes
from trainer.platform.tf_import import import_tensorflow
from trainer.platform.visible_gpus import visible_models

GpuUse = Literal["whole", "as needed", "hidden"]


def start_tensorflow(
    *,
    plain_malloc: bool = False,
    gpus: GpuUse = "whole",
    init_devices: bool = True,
    check_compiler: bool = True,
    keep_programs: bool = False,
) -> str:
    """Import TensorFlow, and return a line about the allocator for the log.

    Where a GPU is visible and TensorFlow is not imported yet, XLA_FLAGS get flags by which XLA tunes less.

    Args:
        plain_malloc: leave glibc's allocator unchanged.
        gpus: "whole" takes nearly all memory of each GPU at once; "as needed" leaves memory to other processes;
            "hidden" uses the CPU.
        init_devices: initialize the devices now; False on one of several hosts, which initializes them when it joins
            the others.
        check_compiler: check that XLA can compile for every visible GPU.
        keep_programs: keep programs that XLA compiles for the CPU or a single GPU on disk, and use those of earlier
            processes, unless TensorFlow is imported already.

    Raises:
        UserError: a GPU is unavailable, or XLA cannot compile for it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read only once; at a lower level warnings follow later
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the numbering of NVML and nvidia-smi
    if gpus == "hidden":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    too_late = "tensorflow" in sys.modules  # reads its flags once
    if not too_late:
        _set_up_compiler(keep_programs=keep_programs, is_one_host=init_devices)
    allocator = "allocator: unchanged (--plain-malloc)" if plain_malloc else tune_allocator()
    with hide_notes():
        _import_tensorflow()
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
                with tf.device("CPU"):
                    tf.zeros([1], tf.float16)  # the first operation on float16 writes a note
            else:
                tf.config.list_physical_devices()
    return allocator


def _import_tensorflow() -> None:
    """Import it, and spare its modules all collections: they stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import_tensorflow()
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


def _set_up_compiler(*, keep_programs: bool, is_one_host: bool) -> None:
    """Have XLA, which is not started yet, tune less where there is a GPU, and keep programs on disk."""
    gpus = visible_models()
    if gpus:
        reduce_autotuning()
    if keep_programs:
        enable_program_cache(gpus, is_one_host=is_one_host)
