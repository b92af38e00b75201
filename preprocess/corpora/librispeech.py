"""LibriSpeech, whole or one subset.

root/                                       LibriSpeech, or one of its subsets
    train-clean-100/                        any subset; `splits` selects some
        <speaker>/<chapter>/
            <speaker>-<chapter>.trans.txt   id TEXT IN CAPITALS
            <id>.flac                       id = <speaker>-<chapter>-<number>

The texts are in capitals and are converted to lower case, because capitals would be other tokens.
Language: English unless configured. Speaker: the first part of the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from preprocess.corpora.folders import find_files, find_splits
from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import Language, SourceConfig, audio_path, make_utterance
from preprocess.utterance import Rejection, Utterance


class LibriSpeech(SourceConfig):
    """Reads LibriSpeech: every row of the transcripts of every chapter."""

    speaker_registry: ClassVar[str] = "librivox"

    reader: Literal["librispeech"]
    language: Language = "eng_Latn"
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist
    suffix: str = ".flac"  # of the audio files

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        for path in self._transcripts(name=name):
            yield from self._rows(path, name=name)

    def _transcripts(self, *, name: str) -> Iterator[Path]:
        if self.splits:
            pattern = "{}/*/*/*.trans.txt"
            return find_splits(self.root, pattern, splits=self.splits, default=(), name=name, reader=self.reader)
        return find_files(self.root, "*/*/*.trans.txt", "*/*/*/*.trans.txt", name=name, reader=self.reader)

    def _rows(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        def parse(line: str) -> Utterance:
            utterance_id, _, text = line.partition(" ")
            speaker, _, _ = split_fields(utterance_id, "-", ("speaker", "chapter", "number"))
            return make_utterance(
                name,
                utterance_id=utterance_id,
                audio_path=audio_path(path.parent, f"{utterance_id}{self.suffix}"),
                text=text.lower(),
                language=self.language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=self.language, parse=parse)
