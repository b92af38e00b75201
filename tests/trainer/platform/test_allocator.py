"""The allocator's settings, measured by the kernel's count of page faults."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from trainer.platform import allocator
from trainer.platform.allocator import tune_allocator

CYCLES = 10
PAGE_BYTES = 4096

# call malloc directly, without the caches of Python or numpy
FAULTS = f"""
import ctypes, resource, sys
blocks, size = int(sys.argv[2]), int(sys.argv[3])
if sys.argv[1] == "tuned":
    from trainer.platform.allocator import tune_allocator
    tune_allocator()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def cycle():
    held = [libc.malloc(size) for _ in range(blocks)]
    for block in held:
        ctypes.memset(block, 1, size)
    for block in held:
        libc.free(block)

cycle()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({CYCLES}):
    cycle()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(setting: str, *, blocks: int, size_bytes: int) -> int:
    words = [sys.executable, "-c", FAULTS, setting, str(blocks), str(size_bytes)]
    answer = subprocess.run(words, capture_output=True, text=True, check=True)
    return int(answer.stdout)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
@pytest.mark.parametrize(("blocks", "size_bytes"), [(4, 8 << 20), (1, 240 << 20)])
def test_large_blocks_are_reused_without_a_page_fault(blocks: int, size_bytes: int) -> None:
    pages = CYCLES * blocks * size_bytes // PAGE_BYTES
    plain, tuned = (faults(setting, blocks=blocks, size_bytes=size_bytes) for setting in ("plain", "tuned"))
    print(f"page faults for {pages} pages written: {plain} plain, {tuned} tuned")
    assert tuned < pages / 100
    assert plain > 10 * max(tuned, 1)


def test_another_allocator_is_left_unchanged_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert tune_allocator() == "allocator: unchanged (not glibc's)"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_a_refused_setting_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "_SETTINGS", {1: 1 << 20})  # M_MXFAST takes no more than 160
    assert "refused" in tune_allocator()
