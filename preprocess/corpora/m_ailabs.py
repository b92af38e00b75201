"""The M-AILABS Speech Dataset, whole or one language.

root/                               the folder of the languages, or one of them
    de_DE/by_book/
        female/, male/
            <speaker>/<book>/
                metadata.csv        id|text|normalised text: UTF-8, no header, quotes are text
                wavs/<id>.wav
        mix/<book>/…                many speakers under one name: not read, and rejected book by book

AppleDouble files (`._*`) are ignored.
Language: configured, else from the folder above by_book. Speaker: the folder above the book.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_files
from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import SourceConfig, audio_path, make_utterance, row_rejection
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

BOOKS = ("by_book/*/*/*/metadata.csv", "by_book/mix/*/metadata.csv")


class MAILabs(SourceConfig):
    """Reads M-AILABS: every row of every book that has one speaker."""

    reader: Literal["m_ailabs"]

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        patterns = [*BOOKS, *(f"*/{pattern}" for pattern in BOOKS)]
        for path in find_files(self.root, *patterns, name=name, reader=self.reader):
            by_book = next(folder for folder in path.parents if folder.name == "by_book")
            language = self.required_language(name=name, inferred=by_book.absolute().parent.name.partition("_")[0])
            if path.relative_to(by_book).parts[0] == "mix":
                error = Rejected(Reason.NOT_SELECTED, "a book with many speakers under one name")
                yield row_rejection(path, root=self.root, name=name, language=language, error=error)
            else:
                yield from self._rows(path, name=name, language=language)

    def _rows(self, path: Path, *, name: str, language: str) -> Iterator[Utterance | Rejection]:
        book, speaker = path.parent.name, path.parents[1].name

        def parse(line: str) -> Utterance:
            clip, *texts = split_fields(line, "|", ("id", "text"), ("id", "text", "normalised text"))
            audio = audio_path(path.parent, "wavs", f"{clip.strip()}.wav")
            return make_utterance(
                name,
                utterance_id=f"{speaker}/{book}/{clip.strip()}",
                audio_path=audio,
                text=texts[-1],
                language=language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse)
