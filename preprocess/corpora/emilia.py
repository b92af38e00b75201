"""Emilia, unpacked, or any folder whose recordings have a JSON file each. `webdataset` reads its tars.

root/
    <any folders>/
        EN_B00000_S00000_W000000.mp3        or another audio format
        EN_B00000_S00000_W000000.json       {"text": …, "speaker": …, "language": "en", …}

An utterance's id is its path without suffix. Hidden files are ignored and links to folders are not followed.
Language: configured, else `language`. Speaker: configured, else `speaker`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pydantic

from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.folders import walk
from preprocess.corpora.json_rows import json_object, parsed
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix, read_pairs
from preprocess.corpora.source import audio_path, corpus_not_found, make_utterance, row_language
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


class _Description(pydantic.BaseModel):
    text: str
    speaker: str | int | None = None
    language: str | None = None


class Emilia(CustomColumnsConfig):
    """Reads a folder: every audio file below root with the JSON file of its name."""

    reader: Literal["emilia"]

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        found = False
        for _, files in walk(self.root):
            audio = audio_files(files)
            found = found or bool(audio)
            yield from read_pairs(
                audio,
                files_with_suffix(files, (".json",)),
                root=self.root,
                name=name,
                language=self.language or "",
                parse=lambda file, text: self._utterance(file, text, name=name),
            )
        if not found:
            raise corpus_not_found([self.root / "**" / "*.mp3"], name=name, reader="emilia")

    def _utterance(self, file: NamedFile, text: str, *, name: str) -> Utterance:
        values, folder = json_object(text), file.path.parent
        described = parsed(_Description, values)
        speaker = self.speaker or ("" if described.speaker is None else str(described.speaker))
        if not speaker:
            raise Rejected(Reason.BAD_METADATA_ROW, "no speaker")
        return make_utterance(
            name,
            utterance_id=(folder.relative_to(self.root) / file.stem).as_posix(),
            audio_path=audio_path(folder, file.path.name),
            text=described.text.strip(),
            language=self.language or row_language(described.language or ""),
            speaker=speaker,
            custom=self.custom_json(values),
        )
