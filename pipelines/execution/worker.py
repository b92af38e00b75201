"""The process of a local worker: Beam's own, without log messages on the user's terminal.

The driver receives the log and shows errors. Writing it to stderr too would break the progress bar. A handler on the
root logger keeps Beam's import from adding its own.
"""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Serve the runner that the environment names until it disconnects."""
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
