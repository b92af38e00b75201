"""A process that finds the parts of one recording: a decoder is C code, which a damaged file may crash.

    python -P -m pipelines.segment.process < REQUEST

REQUEST is a JSON object: `path` (of the recording) and `lengths` (the fields of ClipLengths). Standard output gets one:
`duration_s`, `clips`, `too_short` and `too_long` (pairs of seconds), or `problem` if the recording cannot be read.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from preprocess.clip_division import ClipLengths, divide
from preprocess.isolated import answer_or_problem, limit_memory
from preprocess.sound_blocks import read_blocks
from preprocess.speech_activity import RATE_HZ, find_speech, measure_activity
from shared.child_process import end_with_parent


def main() -> None:
    """Answer the request on standard input, with limited memory."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a job in the background, which Ctrl-C does not end
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    asked = json.load(sys.stdin)
    limit_memory()
    path, lengths = Path(asked["path"]), ClipLengths(**asked["lengths"])
    json.dump(answer_or_problem(lambda: find_parts(path, lengths=lengths)), sys.stdout)


def find_parts(path: Path, *, lengths: ClipLengths) -> dict[str, object]:
    """The answer for one recording; raises Rejected or OSError if it cannot be read."""
    activity = measure_activity(read_blocks(path, rate_hz=RATE_HZ))
    division = divide(find_speech(activity), lengths=lengths, duration_s=activity.duration_s)
    return {"duration_s": activity.duration_s, **division._asdict()}


if __name__ == "__main__":
    main()
