"""Stands in for the process that scores recordings: the name of a recording tells what happens."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    if "SCORE_TEST_BROKEN" in os.environ:
        sys.exit(3)
    print("ready", flush=True)
    for line in sys.stdin:
        path = json.loads(line)["path"]
        if "crash" in path:
            os.abort()
        if "hang" in path:
            time.sleep(1000)
        if "defect" in path:
            sys.exit(1)
        if "together" in path:
            wait_for_others(Path(os.environ["SCORE_TEST_FOLDER"]))
        number = float("".join(filter(str.isdecimal, path)))
        print(json.dumps({"scores": {"ovrl": number, "process": os.getpid()}}), flush=True)
        if "last" in path:
            sys.exit(1)


def wait_for_others(folder: Path) -> None:
    """Return when three processes wait."""
    (folder / str(os.getpid())).touch()
    ends_s = time.monotonic() + 30
    while len(list(folder.iterdir())) < 3 and time.monotonic() < ends_s:
        time.sleep(0.01)


if __name__ == "__main__":
    main()
