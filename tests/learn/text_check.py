"""Check that speech follows texts of lengths that training did not know: `python -m tests.learn.text_check RUN`.

The model of a learn check speaks texts of 1 to 12 words that are not in its corpus, and texts of several sentences,
through the synthesizer: guided, and beside it unguided. flite speaks the same texts; pocketsphinx recognizes both under
a grammar of any words. A text of 1 to 12 words, or a sentence of a longer text, is a failure where the speech ends
early or late, where its last word is not heard, where it ends in silence, or where a word is spoken twice: the
recognizer hears it twice, and flite's recording with the word twice is nearer to the speech than the one with the word
once. Of 60 recordings of another voice with a word twice, 56 are found so, and none of 60 with each word once
(`python -m tests.learn.repeated_words RUN`).
Writes RUN/text_check.json; exit 1: a bound is missed.
"""

from __future__ import annotations

import collections
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from shared.errors import UserError
from shared.files import write_bytes
from tests.learn.corpus import SENTENCES, VOICES, speak
from tests.learn.grammar import any_words_jsgf, phrases, sentences
from tests.learn.grammar import texts as corpus_texts
from trainer.checkpoint.run_dir import read_run_info
from trainer.evaluation.cepstra import align_mels
from trainer.evaluation.clip_measures import EARLY, LATE
from trainer.evaluation.listeners import PocketsphinxListener
from trainer.evaluation.text_errors import text_errors
from trainer.speech.options import SpeechOptions
from trainer.speech.speech import SpokenPiece
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice

MAX_FAILURES = 0.002  # of the texts of one sentence and the sentences of the others together
MAX_TAIL_S, TAIL_DB = 0.5, 45.0  # of sound so far below its peak at the end
REFERENCE = "the little tiger remembers the happy lady"


class Spoken(NamedTuple):
    """A sentence as it was spoken, with what a listener would call a failure."""

    text: str
    heard: list[str]
    word_errors: int
    failures: list[str]
    problems: list[str]  # that the synthesizer itself reports


def short_texts(count: int, *, seed: int) -> list[str]:
    """Texts of 1 to 12 words that the corpus does not have; from 8 words on two of them, the first one a sentence.

    Texts of one word are in the corpus: there are ten of them.
    """
    chance, known = random.Random(seed), set(corpus_texts(SENTENCES))
    unseen = [one for one in [*phrases(10_000), *sentences(4_000)] if one not in known or " " not in one]
    by_length: dict[int, list[str]] = {}
    for text in unseen:
        by_length.setdefault(len(text.split()), []).append(text)
    return [". ".join(chance.choice(by_length[words]) for words in _lengths(1 + n % 12, chance)) for n in range(count)]


def _lengths(words: int, chance: random.Random) -> tuple[int, ...]:
    """Lengths of texts whose words add up to `words`; no text of the grammar has more than 7 words."""
    if words <= 7:
        return (words,)
    first = chance.choice([length for length in (5, 6, 7) if words - length >= 1])
    return first, words - first


def texts_of_sentences(count: int, *, seed: int) -> list[str]:
    """Texts of 2 to 6 sentences that the corpus does not have."""
    chance = random.Random(seed)
    unseen = sentences(4_000)[SENTENCES:]
    return [" ".join(f"{one}." for one in chance.sample(unseen, chance.randint(2, 6))) for _ in range(count)]


def word_errors(heard: list[str], said: list[str]) -> int:
    """Substituted, inserted and left out words."""
    return text_errors(" ".join(heard), said=" ".join(said)).word_errors


def words_of(text: str) -> list[str]:
    """The words of a text, without full stops."""
    return text.replace(".", "").split()


def with_word_twice(text: str, *, word: str, occurrence: int = 0) -> str | None:
    """The text in which an occurrence of a word is written twice; None if there are not so many."""
    parts = text.split()
    places = [place for place, part in enumerate(parts) if part.rstrip(".") == word]
    if occurrence >= len(places):
        return None
    place = places[occurrence]
    return " ".join([*parts[:place], word, *parts[place:]])


def words_heard_twice(heard: list[str]) -> Iterator[tuple[str, int]]:
    """Each word that is heard twice in succession, and which of its occurrences that is; doubles count as one."""
    once = [word for word, _ in itertools.groupby(heard)]
    for index, (word, group) in enumerate(itertools.groupby(heard)):
        if len(list(group)) > 1:
            yield word, once[:index].count(word)


class Listener:
    """Compares speech with flite's recordings of the same texts."""

    def __init__(self, synthesizer: Synthesizer, *, voice: str):
        self._synthesizer, self._voice = synthesizer, voice
        self._listener = PocketsphinxListener(grammar=any_words_jsgf())
        self._spec = read_run_info(synthesizer.run).contract.features

    def recording(self, text: str) -> np.ndarray:
        """The mel [F, M] of flite's recording, processed as the corpus was."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "clip.wav"
            speak(text, voice=self._voice, out=path)
            return self._synthesizer.read_voice(path).mels[0]

    def hear(self, mel: np.ndarray) -> list[str]:
        """The words of a mel [F, M], as the synthesizer makes sound of it."""
        return self._listener.transcribe(self._synthesizer.vocode(mel), rate_hz=self._spec.sample_rate_hz).split()

    def judge(self, pieces: Sequence[SpokenPiece], *, text: str, recording: np.ndarray) -> Spoken:
        """Compare the parts of a spoken sentence with its words, and with its recording [F, M]."""
        said, heard = words_of(text), [word for piece in pieces for word in self.hear(piece.mel)]
        mel, end = np.concatenate([piece.mel for piece in pieces]), pieces[-1].samples
        failures = list(self._end_failures(len(mel), end=end, heard=heard, said=said, recorded_frames=len(recording)))
        if self.has_word_twice(mel, text=text, heard=heard, recording=recording):
            failures.append("repeated")
        problems = [problem for piece in pieces for problem in piece.problems]
        return Spoken(text, heard, word_errors(heard, said), failures, problems)

    def has_word_twice(self, mel: np.ndarray, *, text: str, heard: list[str], recording: np.ndarray) -> bool:
        """True if a word of a text is heard twice in a mel [F, M], and a recording with the word twice is nearer to it.

        The recognizer alone hears some long words as two.
        """
        if len(heard) <= len(words_of(text)):
            return False
        distance_db = align_mels(mel, recording).distance_db
        others = (with_word_twice(text, word=word, occurrence=count) for word, count in words_heard_twice(heard))
        return any(align_mels(mel, self.recording(other)).distance_db < distance_db for other in others if other)

    def _end_failures(
        self, frames: int, *, end: np.ndarray, heard: list[str], said: list[str], recorded_frames: int
    ) -> Iterator[str]:
        if frames < EARLY * recorded_frames:
            yield "early"
        if frames > LATE * recorded_frames:
            yield "late"
        if len(heard) < len(said) and heard[-1:] != said[-1:]:
            yield "last word"
        loud = np.flatnonzero(np.abs(end) > np.abs(end).max(initial=0.0) * 10 ** (-TAIL_DB / 20))
        if not len(loud) or len(end) - loud[-1] > MAX_TAIL_S * self._spec.sample_rate_hz:
            yield "silent tail"


class Rates(NamedTuple):
    """Figures of a way to speak."""

    sentences: int
    word_errors: float
    failed: int  # sentences with a failure
    failures: dict[str, int]
    reported: int  # sentences with a problem that the synthesizer reports
    reported_failures: int  # failures among these


def rates(spoken: list[Spoken]) -> Rates:
    """Sum up spoken sentences."""
    return Rates(
        sentences=len(spoken),
        word_errors=sum(one.word_errors for one in spoken) / sum(len(words_of(one.text)) for one in spoken),
        failed=sum(bool(one.failures) for one in spoken),
        failures=dict(collections.Counter(kind for one in spoken for kind in one.failures)),
        reported=sum(bool(one.problems) for one in spoken),
        reported_failures=sum(bool(one.problems and one.failures) for one in spoken),
    )


def check_run(
    run: Path, *, count: int, texts: int, voice: str, checkpoint: str | None, vocoder: Path | None
) -> dict[str, object]:
    """Speak `count` texts of one sentence and `texts` of several, guided and unguided, and measure all."""
    synthesizer = Synthesizer.load(run, checkpoint=checkpoint, vocoder=vocoder)
    listener = Listener(synthesizer, voice=voice)
    reference = Voice("flite", (listener.recording(REFERENCE),), read_run_info(run).contract)
    shorts, longs = short_texts(count, seed=1), texts_of_sentences(texts, seed=2)
    recordings = [listener.recording(text) for text in shorts]
    copies = [listener.hear(mel) for mel in recordings]
    copied = sum(word_errors(one, words_of(text)) for one, text in zip(copies, shorts, strict=True))
    document: dict[str, object] = {"recordings": {"word_errors": copied / sum(len(words_of(one)) for one in shorts)}}
    for name, is_guided in (("guided", True), ("unguided", False)):
        options = SpeechOptions(is_guided=is_guided)

        def say(text: str, options: SpeechOptions = options) -> tuple[SpokenPiece, ...]:
            return synthesizer.say(text, voice=reference, options=options).pieces

        spoken = [
            listener.judge(say(text), text=text, recording=recording)
            for text, recording in zip(shorts, recordings, strict=True)
        ]
        several = [one for text in longs for one in judge_sentences(say(text), text=text, listener=listener)]
        document[name] = {
            "one sentence": rates(spoken)._asdict(),
            "several sentences": rates(several)._asdict(),
            "failed": [one._asdict() for one in spoken + several if one.failures or one.problems],
        }
    return document


def judge_sentences(pieces: Sequence[SpokenPiece], *, text: str, listener: Listener) -> Iterator[Spoken]:
    """Compare each sentence of a text with its words, and with a recording of that sentence alone.

    Raises:
        UserError: the text was not spoken sentence by sentence.
    """
    waiting = list(pieces)
    for sentence in text.removesuffix(".").split(". "):
        spoken: list[SpokenPiece] = []  # a long sentence is spoken in parts
        while waiting and (not spoken or _words(spoken) != sentence):
            spoken.append(waiting.pop(0))
        if _words(spoken) != sentence:
            raise UserError(f"{text!r} was spoken as {[piece.text for piece in pieces]}, expected its sentences")
        yield listener.judge(spoken, text=sentence, recording=listener.recording(sentence))


def _words(pieces: Sequence[SpokenPiece]) -> str:
    return " ".join(word for piece in pieces for word in words_of(piece.text))


def failures_of(found: dict[str, dict[str, int]]) -> tuple[int, int]:
    """Failures and sentences of a way to speak, of texts of one and of several sentences together."""
    groups = found["one sentence"], found["several sentences"]
    return sum(one["failed"] for one in groups), sum(one["sentences"] for one in groups)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--texts", "count", default=300, show_default=True, help="Texts of one sentence.")
@click.option("--long-texts", default=100, show_default=True, help="Texts of several sentences.")
@click.option("--voice", type=click.Choice(VOICES), default=VOICES[0], show_default=True)
@click.option("--checkpoint", help="best, last, or a step.")
@click.option(
    "--vocoder",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A vocoder file that turns mels into sound in the place of Griffin-Lim.",
)
def main(run: Path, count: int, long_texts: int, voice: str, checkpoint: str | None, vocoder: Path | None) -> None:
    """Check the synthesizer with the RUN of a learn check."""
    try:
        document = check_run(run, count=count, texts=long_texts, voice=voice, checkpoint=checkpoint, vocoder=vocoder)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    write_bytes(run / "text_check.json", json.dumps(document, indent=1).encode())
    guided = document["guided"]
    assert isinstance(guided, dict)
    failed, spoken = failures_of(guided)
    for name, found in document.items():
        shown = {key: value for key, value in found.items() if key != "failed"} if isinstance(found, dict) else found
        click.echo(f"{name}: {json.dumps(shown)}")
    click.echo(f"guided: {failed} failures of {spoken} sentences, expected at most {MAX_FAILURES * 1000:g} of 1,000")
    sys.exit(0 if failed <= MAX_FAILURES * spoken else 1)


if __name__ == "__main__":
    main()
