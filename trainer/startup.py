"""Bringing TensorFlow in: the allocator before it, and without what it says about a machine that has no GPU."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator

from trainer.allocator import tune_allocator

# Written by its C++ side before any log level holds; everything else that it writes is passed on.
_NOTES = re.compile(rb"absl::InitializeLog\(\) is called|Could not find cuda drivers|failed call to cuInit")


def start_tensorflow(*, plain_malloc: bool = False) -> str:
    """Import TensorFlow and let it look for devices; what was done about the allocator, in words."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the numbers that NVML and nvidia-smi use
    allocator = "allocator: as it is (--plain-malloc)" if plain_malloc else tune_allocator()
    with _without_notes():
        import tensorflow as tf

        tf.config.list_logical_devices()
    return allocator


@contextlib.contextmanager
def _without_notes() -> Iterator[None]:
    """Hold back what is written to the file of stderr, then pass on all lines but the known notes."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            for line in held:
                if not _NOTES.search(line):
                    os.write(2, line)
