"""A process that scores recordings, one after the other: a decoder is C code, which a damaged file may crash.

    python -P -m pipelines.score.process

Standard output begins with a line that says that recordings are taken. From then on, a line of standard input is a JSON
object: `path`, of a recording or of a part of one, and `max_duration_s`. Each is answered by a line of standard output:
`scores`, the fields of Opinion after `dnsmos_`, or `problem` if the recording cannot be read.
"""

from __future__ import annotations

import functools
import json
import sys

from preprocess.audio import decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.dnsmos import DNSMOS, RATE_HZ
from preprocess.isolated import answer_or_problem, limit_memory
from preprocess.utterance import Reason, Rejected
from shared.child_process import end_with_parent


def main() -> None:
    """Answer the requests on standard input, with limited memory."""
    end_with_parent()
    networks = DNSMOS()
    limit_memory()
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answer_or_problem(functools.partial(score, networks, **asked))), flush=True)


def score(networks: DNSMOS, *, path: str, max_duration_s: float) -> dict[str, object]:
    """The answer for one recording; raises Rejected or OSError if it cannot be read."""
    samples = resample(decode_audio(read_audio_file(path), max_duration_s=max_duration_s), rate_hz=RATE_HZ).samples
    if not len(samples):
        raise Rejected(Reason.TOO_SHORT, f"nothing is left of it at {RATE_HZ} Hz")
    return {"scores": {f"dnsmos_{name}": value for name, value in networks(samples)._asdict().items()}}


if __name__ == "__main__":
    main()
