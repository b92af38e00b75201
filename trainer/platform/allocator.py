"""Tune glibc's allocator to keep large blocks, which the input pipeline and the compiled step allocate all the time.

By default glibc maps each large block when it is allocated and returns it when it is freed, so every page faults again:
20 to 30 page faults per clip, two fifths of the input pipeline's CPU time. The compiled step allocates all of its
results in one block (240 MiB in the learning check); on a CPU page faults took a fifth of the step. Threads allocate
from up to eight arenas per core; with one arena per core, and at least four, memory soon stops growing without being
slower.
"""

from __future__ import annotations

import ctypes
import os
import platform

# From glibc's malloc.h. The size threshold for mapping a block cannot exceed 32 MiB, but the number of mapped blocks
# can be limited.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8
_SETTINGS = {
    _M_MMAP_MAX: 0,
    _M_TRIM_THRESHOLD: 2**31 - 1,
    _M_TOP_PAD: 128 << 20,
    _M_ARENA_MAX: max(4, os.cpu_count() or 1),
}


def tune_allocator() -> str:
    """Keep freed memory in the process, up to its peak use; return a line for the log.

    Only later allocations are affected, so this must run before TensorFlow is imported.
    """
    library, version = platform.libc_ver()
    if library != "glibc":
        return "allocator: unchanged (not glibc's)"
    mallopt = ctypes.CDLL(None).mallopt
    if not all(mallopt(setting, value) for setting, value in _SETTINGS.items()):
        return f"allocator: glibc {version} refused the settings for large blocks"
    return f"allocator: glibc {version}, large blocks are kept for reuse"
