"""The HUI audio corpus of German, full or clean, whole or one speaker.

root/                               the folder of the speakers, or one of them
    <speaker>/<book>/
        metadata.csv                id|text: UTF-8, no header, quoted as CSV where a text has quotes
        wavs/<id>.wav

AppleDouble files (`._*`) are ignored.
Language: German unless configured. Speaker: the folder above the book.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from preprocess.corpora.folders import find_files
from preprocess.corpora.rows import cell_text, read_separated
from preprocess.corpora.source import SourceConfig, audio_path, make_utterance, row_rejection
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


class HUI(SourceConfig):
    """Reads HUI: every row of every book."""

    reader: Literal["hui"]

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.required_language(name=name, inferred="German")
        for path in find_files(self.root, "*/*/metadata.csv", "*/metadata.csv", name=name, reader=self.reader):
            for row in read_separated(path, separator="|", is_quoted=True, required=None):
                try:
                    if isinstance(row.cells, Rejected):
                        raise row.cells
                    yield self._utterance(row.cells, book=path.parent, name=name, language=language)
                except Rejected as error:
                    yield row_rejection(
                        path, root=self.root, name=name, line=row.number, row=row.text, language=language, error=error
                    )

    def _utterance(self, cells: Mapping[str, Any], *, book: Path, name: str, language: str) -> Utterance:
        if len(cells) != 2:
            raise Rejected(Reason.BAD_METADATA_ROW, f"{len(cells)} fields, expected id|text")
        clip, speaker = cells["1"].strip(), book.absolute().parent.name
        if not clip:
            raise Rejected(Reason.BAD_METADATA_ROW, "no id")
        return make_utterance(
            name,
            utterance_id=f"{speaker}/{book.name}/{clip}",
            audio_path=audio_path(book, "wavs", f"{clip}.wav"),
            text=cell_text(cells, "2"),
            language=language,
            speaker=self.speaker or speaker,
        )
