"""How much each recording sounds like others of its speaker: finds clips that are ascribed to the wrong person."""

from __future__ import annotations

import collections
import heapq
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np

from pipelines.score.score import Scored, score
from preprocess.utterance import Utterance
from shared.hashing import sort_key

COLUMN = "speaker_similarity"
COMPARED = 10  # recordings of a speaker, chosen by hash, with which each of his is compared
MIN_SPEAKER_SIMILARITY = 0.6
MIN_COMPARED = 3  # of them beside the recording itself; with fewer, it has no score


def score_speakers(
    new: Callable[[], Iterator[Utterance]],
    *,
    listed: Callable[[], Iterator[Utterance]],
    max_duration_s: float,
    workers: int | None = None,
) -> Generator[Scored]:
    """Compare the voice of each new recording with those of other recordings of its speaker.

    The score is the median of the cosines: up to half of the compared recordings may be of another person.

    Args:
        new: lists the utterances that are scored.
        listed: lists all utterances, of which some of each speaker are compared.
        max_duration_s: of a recording; a longer one is not decoded.
        workers: processes at a time; None: one for each core.
    """
    chosen = choose_compared(listed(), speakers={one.speaker for one in new()})
    known: dict[str, Scored] = {}
    voices: dict[str, dict[str, np.ndarray]] = collections.defaultdict(dict)  # speaker -> id -> [256]
    for one in _heard(chosen.values(), max_duration_s=max_duration_s, workers=workers):
        known[one.utterance.id] = one
        if not one.problem:
            voices[one.utterance.speaker][one.utterance.id] = _voice(one)
    others = (one for one in new() if one.id not in known)
    heard = _heard(others, max_duration_s=max_duration_s, workers=workers)
    for one in itertools.chain((known[one.id] for one in new() if one.id in known), heard):
        yield one if one.problem else one._replace(scores={COLUMN: similarity(one, voices[one.utterance.speaker])})


def _heard(utterances: Iterable[Utterance], *, max_duration_s: float, workers: int | None) -> Generator[Scored]:
    return score(utterances, network="speaker", max_duration_s=max_duration_s, workers=workers)


def choose_compared(utterances: Iterable[Utterance], *, speakers: set[str]) -> dict[str, Utterance]:
    """The first COMPARED utterances of each speaker in the order of their hashes, by id."""
    chosen: dict[str, list[tuple[int, str, Utterance]]] = collections.defaultdict(list)
    for utterance in utterances:
        if utterance.speaker in speakers:
            entry, heap = (-sort_key(utterance.id)[0], utterance.id, utterance), chosen[utterance.speaker]
            heapq.heappush(heap, entry) if len(heap) < COMPARED else heapq.heappushpop(heap, entry)
    return {name: one for heap in chosen.values() for _, name, one in heap}


def similarity(one: Scored, voices: dict[str, np.ndarray]) -> float:
    """The median cosine of a recording's voice with these others; NaN if there are fewer than MIN_COMPARED.

    Args:
        voices: [256] by id; that of the recording itself may be among them.
    """
    others = [voice for name, voice in voices.items() if name != one.utterance.id]
    return float(np.median(np.stack(others) @ _voice(one))) if len(others) >= MIN_COMPARED else math.nan


def _voice(one: Scored) -> np.ndarray:
    return np.array(one.scores["voice"], np.float32)
