"""Any folder of audio files with their texts beside them; no layout is needed.

root/
    <any folders>/
        <name>.wav              or another audio format, suffix in upper or lower case
        <name>.lab or .txt      the text, UTF-8; .lab if there are both

Hidden files are ignored and links to folders are not followed. Audio without text and text without audio
are rejected; two recordings of one name in a folder have one id, and the second is a duplicate.
Language: configured. Speaker: the name of the folder that holds the file, unless configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from preprocess.audio_formats import AUDIO_SUFFIXES
from preprocess.corpora.folders import walk
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix, read_pairs
from preprocess.corpora.source import SourceConfig, audio_path, corpus_not_found, make_utterance
from preprocess.utterance import Rejection, Utterance

TEXT_SUFFIXES = (".lab", ".txt")


class Folder(SourceConfig):
    """Reads a folder: every audio file below root; an utterance's id is its path."""

    reader: Literal["folder"]

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.required_language(name=name)
        found = False
        for _, files in walk(self.root):
            audio = audio_files(files)
            found = found or bool(audio)
            yield from read_pairs(
                audio,
                files_with_suffix(files, TEXT_SUFFIXES),
                root=self.root,
                name=name,
                language=language,
                parse=lambda file, text: self._utterance(file, text, name=name, language=language),
            )
        if not found:
            raise corpus_not_found(
                [self.root / "**" / f"*{suffix}" for suffix in AUDIO_SUFFIXES], name=name, reader="folder"
            )

    def _utterance(self, file: NamedFile, text: str, *, name: str, language: str) -> Utterance:
        folder = file.path.parent
        return make_utterance(
            name,
            utterance_id=(folder.relative_to(self.root) / file.stem).as_posix(),
            audio_path=audio_path(folder, file.path.name),
            text=text,
            language=language,
            speaker=self.speaker or folder.absolute().name,
        )
