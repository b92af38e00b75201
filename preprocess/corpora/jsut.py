"""JSUT, whole or one subset.

root/                           jsut_ver1.1, or one of its subsets
    basic5000/, travel1000/, …
        transcript_utf8.txt     id:text
        wav/<id>.wav

Language: Japanese unless configured. Speaker: `jsut` unless configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_files
from preprocess.corpora.metadata import parse_lines
from preprocess.corpora.source import Language, SourceConfig, audio_path, make_utterance
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


class JSUT(SourceConfig):
    """Reads JSUT: every row of the transcripts of every subset."""

    reader: Literal["jsut"]
    language: Language = "jpn_Jpan"

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        transcripts = ("transcript_utf8.txt", "*/transcript_utf8.txt")
        for path in find_files(self.root, *transcripts, name=name, reader=self.reader):
            yield from self._rows(path, name=name)

    def _rows(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        def parse(line: str) -> Utterance:
            clip, colon, text = line.partition(":")
            if not colon:
                raise Rejected(Reason.BAD_METADATA_ROW, "no colon, wanted id:text")
            return make_utterance(
                name,
                utterance_id=clip,
                audio_path=audio_path(path.parent, "wav", f"{clip}.wav"),
                text=text,
                language=self.language,
                speaker=self.speaker or "jsut",
            )

        return parse_lines(path, root=self.root, name=name, language=self.language, parse=parse)
