"""Multilingual LibriSpeech, one language, with flac or opus audio.

root/                                               such as mls_spanish or mls_spanish_opus
    train/, dev/, test/                             those that exist; `splits` selects some
        transcripts.txt                             id <tab> text: lower case, no punctuation
        audio/<speaker>/<book>/<id>.flac or .opus   id = <speaker>_<book>_<number>

Audio is .opus if root's name contains "opus", else .flac; `suffix` sets another.
Language: configured, else from root's name. Speaker: the first part of the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from preprocess.corpora.folders import find_splits
from preprocess.corpora.language_names import language_from_name
from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import SourceConfig, audio_path, make_utterance
from preprocess.utterance import Rejection, Utterance


class MLS(SourceConfig):
    """Reads MLS: every row of the transcripts of every split."""

    speaker_registry: ClassVar[str] = "librivox"

    reader: Literal["mls"]
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist
    suffix: str | None = None  # of the audio files; null: by root's name

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.required_language(name=name, inferred=language_from_name(self.root))
        default = ("train", "dev", "test")
        for path in find_splits(
            self.root, "{}/transcripts.txt", splits=self.splits, default=default, name=name, reader=self.reader
        ):
            yield from self._rows(path, name=name, language=language)

    def _rows(self, path: Path, *, name: str, language: str) -> Iterator[Utterance | Rejection]:
        suffix = self.suffix or (".opus" if "opus" in self.root.absolute().name else ".flac")

        def parse(line: str) -> Utterance:
            utterance_id, text = split_fields(line, "\t", ("id", "text"))
            speaker, book, _ = split_fields(utterance_id, "_", ("speaker", "book", "number"))
            return make_utterance(
                name,
                utterance_id=utterance_id,
                audio_path=audio_path(path.parent, "audio", speaker, book, f"{utterance_id}{suffix}"),
                text=text,
                language=language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse)
