"""Judges without a listener whether a sentence was spoken as it is written: its length, attention and pauses.

A sentence with a problem is spoken once more with another seed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trainer.config.speech_bounds import MAX_PAUSE_S
from trainer.data.speech_pace import SpeechPace
from trainer.speech.generation import MelPart
from trainer.speech.silence import longest_pause

NO_END = "no end was predicted"
MAX_SKIPPED = 2  # positions of the text that the attention may leave out between two steps
MAX_RETURN = 3  # positions by which the attention may return
END_TOLERANCE = 3  # of the last positions of the text, the attention must reach one: the last pieces, the end token


def find_problems(spoken: MelPart, *, pace: SpeechPace, frames_per_second: float) -> Iterator[str]:
    """What makes a spoken sentence implausible; nothing for one that is plausible.

    Args:
        spoken: its alignment [N, T] covers all positions of the text.
        pace: the range of frames per token of the language.
    """
    frames, tokens = len(spoken.mel), spoken.alignment.shape[1]
    if not spoken.has_ended:
        yield NO_END
    if frames < pace.min_frames_per_token * tokens:
        yield "faster than any speech of training"
    if frames > pace.max_frames_per_token * tokens:
        yield "slower than any speech of training"
    if longest_pause(spoken.mel) > MAX_PAUSE_S * frames_per_second:
        yield f"a pause of more than {MAX_PAUSE_S:g} s"
    yield from _attention_problems(spoken.alignment)


def _attention_problems(alignment: np.ndarray) -> Iterator[str]:
    attended = alignment.argmax(1) if len(alignment) else np.zeros(1, np.int64)
    reached = np.maximum.accumulate(attended)
    if np.diff(reached, prepend=0).max() > MAX_SKIPPED + 1:
        yield "a part of the text was left out"
    if reached[-1] < alignment.shape[1] - END_TOLERANCE:
        yield "the end of the text was left out"
    if (reached - attended).max(initial=0) > MAX_RETURN:
        yield "a part of the text was repeated"
