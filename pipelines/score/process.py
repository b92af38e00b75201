"""A process that scores recordings, one after the other: a decoder is C code, which a damaged file may crash.

    python -P -m pipelines.score.process NETWORK

Standard output begins with a line that says that recordings are taken. From then on, a line of standard input is a JSON
object: `path`, of a recording or of a part of one, and `max_duration_s`. Each is answered by a line of standard output:
`scores`, what the network answers by name, or `problem` if the recording cannot be read.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable

import numpy as np

from preprocess.audio import decode_audio, resample
from preprocess.audio_file import read_audio_file
from preprocess.dnsmos import DNSMOS
from preprocess.isolated import answer_or_problem, limit_memory
from preprocess.speaker_encoder import SpeakerEncoder
from preprocess.speech_activity import measure_activity, speech_share
from preprocess.utterance import Reason, Rejected
from shared.child_process import end_with_parent

RATE_HZ = 16_000  # that all networks hear

Hear = Callable[[np.ndarray], dict[str, object]]  # samples [S] float32 at RATE_HZ -> scores by name


def main() -> None:
    """Answer the requests on standard input, with limited memory."""
    end_with_parent()
    hear = NETWORKS[sys.argv[1]]()
    limit_memory()
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answer_or_problem(functools.partial(score, hear, **asked))), flush=True)


def score(hear: Hear, *, path: str, max_duration_s: float) -> dict[str, object]:
    """The answer for one recording; raises Rejected or OSError if it cannot be read."""
    samples = resample(decode_audio(read_audio_file(path), max_duration_s=max_duration_s), rate_hz=RATE_HZ).samples
    if not len(samples):
        raise Rejected(Reason.TOO_SHORT, f"nothing is left of it at {RATE_HZ} Hz")
    return {"scores": hear(samples)}


def dnsmos() -> Hear:
    """The fields of Opinion after `dnsmos_`."""
    networks = DNSMOS()
    return lambda samples: {f"dnsmos_{name}": value for name, value in networks(samples)._asdict().items()}


def speaker() -> Hear:
    """The vector of the voice."""
    encoder = SpeakerEncoder()

    def hear(samples: np.ndarray) -> dict[str, object]:
        voice = encoder(samples)
        if not np.isfinite(voice).all():
            raise Rejected(Reason.EMPTY_AUDIO, "no voice is heard")
        return {"voice": voice.tolist()}

    return hear


def speech() -> Hear:
    """The share of speech and the longest pause."""

    def hear(samples: np.ndarray) -> dict[str, object]:
        found = speech_share(measure_activity([samples]))
        return {"speech_fraction": found.fraction, "longest_pause_s": found.longest_pause_s}

    return hear


NETWORKS: dict[str, Callable[[], Hear]] = {"dnsmos": dnsmos, "speaker": speaker, "speech": speech}


if __name__ == "__main__":
    main()
