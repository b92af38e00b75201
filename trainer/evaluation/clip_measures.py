"""The measures of one spoken clip: it is compared with its text, and with its recording.

Speech and recording pass through the same vocoder before they are heard (copy-synthesis), so that the vocoder's own
faults are in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trainer.evaluation.cepstra import align_mels
from trainer.evaluation.pitch import pitch_contour, pitch_difference
from trainer.evaluation.text_errors import TextErrors, text_errors

EARLY, LATE = 0.7, 1.4  # of the recording's duration: speech beyond these ended too early or too late


class Sound(NamedTuple):
    """Speech as a mel and as a waveform."""

    mel: np.ndarray  # [F, M] float32 in ln magnitude
    samples: np.ndarray  # [S] float32


Embed = Callable[[Sound], np.ndarray]  # to a unit vector, alike for sounds of one voice


class TextMeasures(NamedTuple):
    """What a listener heard, and how that differs from the text."""

    heard: str
    errors: TextErrors

    @classmethod
    def of(cls, heard: str, *, said: str) -> TextMeasures:
        """Compare what was heard with what was to be said."""
        return cls(heard, text_errors(heard, said=said))


class SoundMeasures(NamedTuple):
    """How far speech is from a recording of its text; nan: not measured."""

    duration_ratio: float  # over that of the recording
    mel_cepstral_distance_db: float
    f0_rms_cents: float  # of aligned frames that are voiced in both
    f0_shift_cents: float  # their median; positive: the speech is higher
    voicing_error: float  # share of aligned frames that are voiced in one of them only
    speaker_similarities: dict[str, float]  # by speaker encoder: cosine of the embeddings


def compare_sounds(
    spoken: Sound,
    recording: Sound,
    *,
    rate_hz: int,
    hop_samples: int,
    embedders: Mapping[str, Embed],
    with_pitch: bool,
) -> SoundMeasures:
    """Compare speech with a recording of the same text, by the best alignment of their mel cepstra."""
    aligned = align_mels(spoken.mel, recording.mel)
    pitch = (np.nan, np.nan, np.nan)
    if with_pitch and np.isfinite(spoken.mel).all():
        contours = (
            pitch_contour(one.samples, rate_hz=rate_hz, hop_samples=hop_samples, frames=len(one.mel))
            for one in (spoken, recording)
        )
        pitch = pitch_difference(*contours, path=aligned.path)
    similarities = {name: float(embed(spoken) @ embed(recording)) for name, embed in embedders.items()}
    return SoundMeasures(len(spoken.mel) / len(recording.mel), aligned.distance_db, *pitch, similarities)


def stop_failures(*, duration_ratio: float, has_ended: bool) -> list[str]:
    """What is wrong with the end of the speech."""
    found = [] if has_ended else ["no end"]
    if duration_ratio < EARLY:
        found.append("early")
    if duration_ratio > LATE:
        found.append("late")
    return found
