"""How much each recording sounds like others of its speaker: finds clips that are ascribed to the wrong person."""

from __future__ import annotations

import collections
import functools
import heapq
from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np

from pipelines.score.score import Scored, score
from preprocess.utterance import Utterance
from shared.hashing import sort_key

COLUMN = "speaker_similarity"
COMPARED = 10  # recordings of each speaker, chosen by hash, with which all recordings of the speaker are compared
MIN_COMPARED = 3  # a recording that fewer others are compared with has no score
# The proposed bound: of 197 clips of eight speakers, 2.5 % are below it with their own, and 96.8 % with each other one.
MIN_SPEAKER_SIMILARITY = 0.6

Voices = dict[str, np.ndarray]  # [256] float32 by the id of the recording


def score_speakers(
    new: Callable[[], Iterator[Utterance]],
    *,
    listed: Callable[[], Iterator[Utterance]],
    max_duration_s: float,
    workers: int | None = None,
) -> Generator[Scored]:
    """Compare the voice of each new recording with those of other recordings of its speaker.

    The score is the median of the cosines: fewer than half of the compared recordings may be of another person.

    Args:
        new: lists the utterances that are scored.
        listed: lists all utterances; the compared recordings are chosen among them.
        max_duration_s: of a recording; a longer one is not decoded.
        workers: processes at a time; None: one for each core.
    """
    chosen = choose_compared(listed(), speakers={one.speaker for one in new()})
    are_new = {one.id for one in new()} & chosen.keys()
    hear = functools.partial(score, network="speaker", max_duration_s=max_duration_s, workers=workers)
    voices: dict[str, Voices] = collections.defaultdict(dict)
    for heard in _by_speaker(hear(sorted(chosen.values(), key=lambda one: one.speaker)), chosen=chosen):
        for one in heard:
            if not one.problem:
                voices[one.utterance.speaker][one.utterance.id] = _voice(one)
        yield from (_scored(one, voices) for one in heard if one.utterance.id in are_new)
    for one in hear(one for one in new() if one.id not in chosen):
        yield _scored(one, voices)


def choose_compared(utterances: Iterable[Utterance], *, speakers: set[str]) -> dict[str, Utterance]:
    """The first COMPARED utterances of each speaker in the order of their hashes, by id."""
    chosen: dict[str, list[tuple[int, str, Utterance]]] = collections.defaultdict(list)
    for utterance in utterances:
        if utterance.speaker in speakers:
            entry, heap = (-sort_key(utterance.id)[0], utterance.id, utterance), chosen[utterance.speaker]
            heapq.heappush(heap, entry) if len(heap) < COMPARED else heapq.heappushpop(heap, entry)
    return {name: one for heap in chosen.values() for _, name, one in heap}


def _by_speaker(heard: Iterable[Scored], *, chosen: dict[str, Utterance]) -> Iterator[list[Scored]]:
    """Yield the compared recordings of a speaker together, as soon as the last of them is scored."""
    missing = collections.Counter(one.speaker for one in chosen.values())
    waiting: dict[str, list[Scored]] = collections.defaultdict(list)
    for one in heard:
        speaker = one.utterance.speaker
        waiting[speaker].append(one)
        if len(waiting[speaker]) == missing[speaker]:
            yield waiting.pop(speaker)


def _scored(one: Scored, voices: dict[str, Voices]) -> Scored:
    """The recording with its score, with none if too few others are known, or with its problem."""
    others = [voice for name, voice in voices[one.utterance.speaker].items() if name != one.utterance.id]
    if one.problem or len(others) < MIN_COMPARED:
        return one._replace(scores={})
    return one._replace(scores={COLUMN: float(np.median(np.stack(others) @ _voice(one)))})


def _voice(one: Scored) -> np.ndarray:
    return np.array(one.scores["voice"], np.float32)
