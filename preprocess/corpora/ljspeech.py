"""LJSpeech 1.1, and corpora in its shape (Thorsten's German voice, and many others).

root/
    metadata.csv            id|text|normalised text, or id|text: UTF-8, no header, quotes are text
    wavs/<id>.wav           any rate; `metadata`, `audio` and `suffix` name another file, folder or format

Language: configured. Speaker: `LJ` unless configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import SourceConfig, audio_path, find_file, make_utterance
from preprocess.utterance import Rejection, Utterance


class LJSpeech(SourceConfig):
    """Reads LJSpeech: every row of the metadata; the last column is the text."""

    reader: Literal["ljspeech"]
    metadata: str = "metadata.csv"  # table with the texts
    audio: str = "wavs"  # folder of the recordings
    suffix: str = ".wav"  # of the audio files

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / self.metadata], name=name, reader=self.reader)
        language = self.required_language(name=name)

        def parse(line: str) -> Utterance:
            utterance_id, *texts = split_fields(line, "|", ("id", "text"), ("id", "text", "normalised text"))
            return make_utterance(
                name,
                utterance_id=utterance_id.strip(),
                audio_path=audio_path(self.root, self.audio, f"{utterance_id.strip()}{self.suffix}"),
                text=texts[-1],
                language=language,
                speaker=self.speaker or "LJ",
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse)
