"""glibc's allocator, told to keep large blocks: the input and the compiled step make and free them all the time.

As it comes, glibc maps a large block anew each time and gives it back when it is freed, so that every page is faulted
in again: 20 to 30 faults a clip, two fifths of the loader's CPU time. The compiled step takes all that it computes in
one block, 240 MiB of it in the learn check, and on a CPU a fifth of a step's time was faults. And threads take from up
to eight arenas for each core; with one for each, and at least four, memory soon stops growing, and nothing is slower.
"""

from __future__ import annotations

import ctypes
import os
import platform

# From glibc's malloc.h. The size from which a block is mapped cannot be set beyond 32 MiB, but how many are can.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8
_SETTINGS = {
    _M_MMAP_MAX: 0,
    _M_TRIM_THRESHOLD: 2**31 - 1,
    _M_TOP_PAD: 128 << 20,
    _M_ARENA_MAX: max(4, os.cpu_count() or 1),
}


def tune_allocator() -> str:
    """Let freed memory stay with the process, as much as it has used at once; what was done, in words.

    Takes effect on what is allocated afterwards, so it comes before TensorFlow is imported.
    """
    library, version = platform.libc_ver()
    if library != "glibc":
        return "allocator: as it is (it is not glibc's)"
    mallopt = ctypes.CDLL(None).mallopt
    if not all(mallopt(setting, value) for setting, value in _SETTINGS.items()):
        return f"allocator: glibc {version} refused the settings for large blocks"
    return f"allocator: glibc {version}, large blocks are kept for use again"
