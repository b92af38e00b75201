"""The process of a worker: Beam's own, without log messages on the user's terminal.

The driver receives the log and shows errors. Writing it to stderr too would break the progress bar. A handler on the
root logger keeps Beam's import from adding its own.
"""

from __future__ import annotations

import logging
import os
import sys


def main() -> None:
    """Serve the runner that the environment names until it disconnects."""
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def local_main() -> None:
    """Serve the driver; stderr takes the reason if that cannot begin, and not the pages that follow a lost driver."""
    import grpc

    stderr = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        main()
    except grpc.RpcError:  # the driver has ended
        sys.exit(1)
    except Exception:
        os.dup2(stderr, 2)
        raise


if __name__ == "__main__":
    local_main()
