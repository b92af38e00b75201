"""glibc's allocator, told to keep large blocks: TensorFlow's input makes and frees them all the time.

As it comes, glibc maps a large block anew each time and gives it back when it is freed, so that every page is faulted
in again: 20 to 30 faults a clip, a fifth of the loader's CPU time. And threads take from up to eight arenas for each
core; with one for each, and at least four, memory soon stops growing, and nothing is slower.
"""

from __future__ import annotations

import ctypes
import os
import platform

# From glibc's malloc.h; 32 MiB is the largest threshold that it takes.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_SETTINGS = {
    _M_MMAP_THRESHOLD: 32 << 20,
    _M_TRIM_THRESHOLD: 2**31 - 1,
    _M_TOP_PAD: 128 << 20,
    _M_ARENA_MAX: max(4, os.cpu_count() or 1),
}


def tune_allocator() -> str:
    """Let freed memory stay with the process, about 0.1 GB of it; what was done, in words.

    Takes effect on what is allocated afterwards, so it comes before TensorFlow is imported.
    """
    library, version = platform.libc_ver()
    if library != "glibc":
        return "allocator: as it is (it is not glibc's)"
    mallopt = ctypes.CDLL(None).mallopt
    if not all(mallopt(setting, value) for setting, value in _SETTINGS.items()):
        return f"allocator: glibc {version} refused the settings for large blocks"
    return f"allocator: glibc {version}, blocks up to 32 MiB are kept for use again"
