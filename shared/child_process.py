"""What a process does that another one starts for a single task."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1  # of Linux: the signal that this process gets when its parent ends


def end_with_parent() -> None:
    """End this process when its parent ends, however that ends; on other systems than Linux do nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
