"""The process of a worker: Beam's own, without log messages on the user's terminal.

The driver receives the log and shows errors. Writing it to stderr too would break the progress bar. A handler on the
root logger keeps Beam's import from adding its own.
"""

from __future__ import annotations

import logging
import os
import sys


def main(*, stderr: int = 2) -> None:
    """Serve the runner that the environment names until it disconnects.

    Args:
        stderr: the file descriptor that takes what is printed once Beam is imported.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main

    os.dup2(stderr, 2)
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main(stderr=os.open(os.devnull, os.O_WRONLY))  # a worker prints pages if its driver has ended
