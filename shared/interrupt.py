"""The end of a command after Ctrl-C."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT


def exit_interrupted(message: str) -> NoReturn:
    """Print a line on stderr and end this process with exit code 130; a further Ctrl-C changes nothing.

    While Python and its libraries close, a further one would end the process by the signal, or with a traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(message, file=sys.stderr)
    sys.exit(INTERRUPTED_EXIT_CODE)
