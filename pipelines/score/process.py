"""A process that scores recordings, one after the other: a decoder is C code, which a damaged file may crash.

    python -P -m pipelines.score.process

A line of standard input is a JSON object: `path`, of a recording or of a part of one, and `max_duration_s`. Each is
answered by a line of standard output: `scores`, the fields of Opinion, or `problem` if the recording cannot be read.
"""

from __future__ import annotations

import json
import signal
import sys

from preprocess.audio import decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.dnsmos import DNSMOS, RATE_HZ
from preprocess.isolated import limit_memory
from preprocess.utterance import Rejected
from shared.child_process import end_with_parent


def main() -> None:
    """Answer the requests on standard input, with limited memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    end_with_parent()
    networks = DNSMOS()
    limit_memory()
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line), networks=networks)), flush=True)


def answer(path: str, *, max_duration_s: float, networks: DNSMOS) -> dict[str, object]:
    """The answer for one recording."""
    try:
        decoded = decode_audio(read_audio_file(path), max_duration_s=max_duration_s)
        return {"scores": networks(resample(decoded, rate_hz=RATE_HZ).samples)._asdict()}
    except Rejected as error:
        return {"problem": error.message}
    except OSError as error:
        return {"problem": error.strerror or "cannot be read"}
    except MemoryError:
        return {"problem": "its decoder needs too much memory"}


if __name__ == "__main__":
    main()
