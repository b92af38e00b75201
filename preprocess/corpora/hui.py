"""The HUI audio corpus of German, full or clean, whole or one speaker.

root/                               the folder of the speakers, or one of them
    <speaker>/<book>/
        metadata.csv                id|text: UTF-8, no header, quoted as CSV where a text has quotes
        wavs/<id>.wav

AppleDouble files (`._*`) are ignored.
Language: German unless configured. Speaker: the folder above the book.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_files
from preprocess.corpora.metadata import check_fields, parse_csv_line, parse_lines
from preprocess.corpora.source import SourceConfig, audio_path, make_utterance
from preprocess.utterance import Rejection, Utterance


class HUI(SourceConfig):
    """Reads HUI: every row of every book."""

    reader: Literal["hui"]

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        for path in find_files(self.root, "*/*/metadata.csv", "*/metadata.csv", name=name, reader=self.reader):
            yield from self._rows(path, name=name)

    def _rows(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        book, speaker = path.absolute().parent.name, path.absolute().parents[1].name
        language = self.required_language(name=name, inferred="German")

        def parse(line: str) -> Utterance:
            clip, text = check_fields(parse_csv_line(line, separator="|"), "|", ("id", "text"))
            return make_utterance(
                name,
                utterance_id=f"{speaker}/{book}/{clip.strip()}",
                audio_path=audio_path(path.parent, "wavs", f"{clip.strip()}.wav"),
                text=text,
                language=language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse)
