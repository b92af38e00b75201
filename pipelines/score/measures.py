"""What `myxtts-data score` can measure: the columns of its table, and how utterances are scored."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from pipelines.score.score import Scored, score
from pipelines.score.speakers import COLUMN, MIN_COMPARED, MIN_SPEAKER_SIMILARITY, score_speakers
from preprocess.dnsmos import check_dnsmos
from preprocess.speaker_encoder import check_speaker_encoder
from preprocess.speech_activity import check_speech_activity
from preprocess.text_language import MIN_TEXT_LANGUAGE, check_text_language, text_language
from preprocess.utterance import Utterance

LOW_PERCENT = 5  # of the recordings, that the proposed bound leaves out


class Score(Protocol):
    """Scores utterances, and yields each when it is done."""

    def __call__(
        self,
        new: Callable[[], Iterator[Utterance]],
        *,
        listed: Callable[[], Iterator[Utterance]],
        max_duration_s: float,
        workers: int | None,
    ) -> Generator[Scored]:
        """
        Args:
            new: lists the utterances that are scored.
            listed: lists all utterances, also those that have scores.
            max_duration_s: of a recording; a longer one is not decoded.
            workers: processes at a time; None: one for each core.
        """


class Measure(NamedTuple):
    """A measure of utterances."""

    columns: tuple[str, ...]  # numbers; the proposed bound is for the first column
    words: tuple[str, ...]  # columns of text
    check: Callable[[], None]  # raises UserError if a package is missing
    score: Score
    bound: Callable[[np.ndarray], float]  # proposed for the scores of the first column
    looks_at: str  # what of an utterance is scored
    without: str  # what those without a score have in common


def score_recordings(
    new: Callable[[], Iterator[Utterance]],
    *,
    listed: Callable[[], Iterator[Utterance]],
    max_duration_s: float,
    workers: int | None,
    network: str,
) -> Generator[Scored]:
    """Let a network hear each recording, in several processes."""
    return score(new(), network=network, max_duration_s=max_duration_s, workers=workers)


def score_texts(
    new: Callable[[], Iterator[Utterance]],
    *,
    listed: Callable[[], Iterator[Utterance]],
    max_duration_s: float,
    workers: int | None,
) -> Generator[Scored]:
    """Compare the text of each utterance with the language that is stated for it, in this process.

    An utterance in a language that the classifier does not know has no score.
    """
    for utterance in new():
        found = text_language(utterance.text, language=utterance.language)
        if found is None:
            yield Scored(utterance, {"text_language": math.nan, "likeliest_language": ""})
        else:
            yield Scored(utterance, {"text_language": found.likelihood, "likeliest_language": found.likeliest})


def _floor_of_low_percent(scores: np.ndarray) -> float:
    return math.floor(float(np.nanpercentile(scores, LOW_PERCENT)) * 100) / 100


DNSMOS = Measure(
    columns=("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808"),
    words=(),
    check=check_dnsmos,
    score=functools.partial(score_recordings, network="dnsmos"),
    bound=_floor_of_low_percent,
    looks_at="recording",
    without="whose cells are empty",
)
TEXT_LANGUAGE = Measure(
    columns=("text_language",),
    words=("likeliest_language",),
    check=check_text_language,
    score=score_texts,
    bound=lambda _: MIN_TEXT_LANGUAGE,
    looks_at="text",
    without="in languages that the classifier does not know",
)
SPEAKER = Measure(
    columns=(COLUMN,),
    words=(),
    check=check_speaker_encoder,
    score=score_speakers,
    bound=lambda _: MIN_SPEAKER_SIMILARITY,
    looks_at="recording",
    without=f"whose speaker has fewer than {MIN_COMPARED} other recordings to compare with",
)
SPEECH = Measure(
    columns=("speech_fraction", "longest_pause_s"),
    words=(),
    check=check_speech_activity,
    score=functools.partial(score_recordings, network="speech"),
    bound=_floor_of_low_percent,
    looks_at="recording",
    without="whose cells are empty",
)
MEASURES = {"dnsmos": DNSMOS, "speech": SPEECH, "speaker": SPEAKER, "text-language": TEXT_LANGUAGE}
