"""Import TensorFlow: tune the allocator first, configure the GPUs, and hide TensorFlow's start-up notes."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

from trainer.platform.allocator import tune_allocator
from trainer.platform.program_cache import cache_folder, close_cache, open_cache
from trainer.platform.tf_import import import_tensorflow

GpuUse = Literal["whole", "as needed", "hidden"]

# Notes that TensorFlow's C++ code writes to stderr before any log level applies, or although nothing is wrong. It tries
# to read a kept program as text before it reads it as what it is. On a processor with AVX-512 it warns that the
# processor lacks "prefer-no-gather" and "prefer-no-scatter", which are preferences of the compiler.
_NOTES = (
    r"absl::InitializeLog\(\) is called|Could not find cuda drivers|failed call to cuInit"
    r"|Error parsing text-format tensorflow\.XlaSerializedCacheEntry"
    r"|Target machine feature \+prefer-no-(gather|scatter) is not"
)

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
    *,
    plain_malloc: bool = False,
    gpus: GpuUse = "whole",
    init_devices: bool = True,
    check_compiler: bool = True,
    keep_programs: bool = False,
) -> str:
    """Import TensorFlow, and return a line about the allocator for the log.

    Args:
        plain_malloc: leave glibc's allocator unchanged.
        gpus: "whole" takes nearly all memory of each GPU at once; "as needed" leaves memory to other processes;
            "hidden" uses the CPU.
        init_devices: initialize the devices now; False on one of several hosts, which initializes them when it joins
            the others.
        check_compiler: check that XLA can compile for every visible GPU.
        keep_programs: keep programs that XLA compiles for the CPU on disk, and use those of earlier processes, unless
            TensorFlow is imported already.

    Raises:
        UserError: a GPU is unavailable, or XLA cannot compile for it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read only once; at a lower level warnings follow later
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the numbering of NVML and nvidia-smi
    if gpus == "hidden":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    too_late = "tensorflow" in sys.modules  # reads its flags once
    if keep_programs and not too_late and (folder := open_cache(cache_folder())):
        atexit.register(close_cache, folder)
    allocator = "allocator: unchanged (--plain-malloc)" if plain_malloc else tune_allocator()
    with hide_notes():
        import_tensorflow()
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
def hide_notes() -> Iterator[None]:
    """Filter the known notes out of everything written to the file descriptor of stderr.

    The filter is a separate process: if TensorFlow aborts this process, its last message still gets through.
    """
    sys.stderr.flush()
    stderr = os.dup(2)
    command = [sys.executable, "-I", "-S", "-c", _FILTER, _NOTES]
    filtering = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert filtering.stdin is not None
    os.dup2(filtering.stdin.fileno(), 2)
    filtering.stdin.close()
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a child process may still hold the pipe open
            filtering.wait(FILTER_END_S)
