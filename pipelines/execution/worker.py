"""The process of one local worker: Beam's own, without its notes on the user's terminal.

Its log still goes to the driver, which shows what is an error. It must not be written to stderr too: that would
run through the progress bar. Where the root logger has a handler, Beam's warning on import adds none of its own.
"""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Serve the runner named in the environment until it hangs up."""
    logging.getLogger().addHandler(logging.NullHandler())
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
