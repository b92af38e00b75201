"""The held-out recordings of the check with many voices: what the model's speech is compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.learn.many_voices.corpus import read_rows
from tests.learn.many_voices.texts import texts_of
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice


class HeldOut:
    """Recordings of every held-out text in every held-out voice."""

    def __init__(self, corpus: Path, *, synthesizer: Synthesizer):
        """
        Args:
            synthesizer: processes the recordings as the corpus was processed for training.

        Raises:
            UserError: the corpus is not there, or a recording cannot be read.
        """
        rows = read_rows(corpus / "unseen.csv")
        self.voices = sorted({row.speaker for row in rows})
        self._recordings = {
            (row.language, row.speaker, row.text): synthesizer.read_voice(corpus / row.audio, name=row.speaker)
            for row in rows
        }

    def mel(self, text: str, *, language: str, voice: str) -> np.ndarray:
        """The mel [F, M] of a recording, in ln magnitude."""
        return self._recordings[language, voice, text].mels[0]

    def reference(self, texts: Sequence[str], *, language: str, voice: str) -> Voice:
        """Recordings of one voice, as the synthesizer takes them for it."""
        found = [self._recordings[language, voice, text] for text in texts]
        return dataclasses.replace(found[0], mels=tuple(mel for one in found for mel in one.mels))


class Task(NamedTuple):
    """A text that the model is asked to speak in a voice."""

    text: str
    language: str
    voice: str
    reference_texts: list[str]  # what the voice's references say, never the text itself


def sentence_tasks(voices: list[str], *, language: str, count: int, references: int = 1) -> list[Task]:
    """`count` held-out sentences for each voice; over all voices, each sentence is asked about equally often.

    Args:
        references: clips of the voice, for each sentence.
    """
    sentences = texts_of(language).held_out_sentences
    return [
        Task(
            sentences[place % len(sentences)],
            language,
            voice,
            [sentences[(place + 1 + other) % len(sentences)] for other in range(references)],
        )
        for number, voice in enumerate(voices)
        for place in range(number * count, (number + 1) * count)
    ]


def name_tasks(voices: list[str], *, language: str, count: int, references: int = 1) -> list[Task]:
    """`count` held-out texts of names for each voice: the same texts in every language."""
    texts = texts_of(language)
    return [
        Task(
            texts.held_out_names[place % len(texts.held_out_names)],
            language,
            voice,
            texts.held_out_sentences[:references],
        )
        for number, voice in enumerate(voices)
        for place in range(number * count, (number + 1) * count)
    ]
