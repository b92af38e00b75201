"""LibriTTS and LibriTTS-R, whole or one subset.

root/                                   LibriTTS, LibriTTS_R, or one of their subsets
    train-clean-100/                    any subset; `splits` selects some
        <speaker>/<chapter>/
            <id>.wav                    id = <speaker>_<chapter>_<paragraph>_<sentence>
            <id>.normalized.txt         `text: original` reads <id>.original.txt

Language: English unless configured. Speaker: the first part of the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from preprocess.corpora.folders import walk
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix, read_pairs
from preprocess.corpora.source import (
    Language,
    SourceConfig,
    audio_path,
    corpus_not_found,
    make_utterance,
)
from preprocess.utterance import Rejection, Utterance


class LibriTTS(SourceConfig):
    """Reads LibriTTS: every recording of every chapter."""

    speaker_registry: ClassVar[str] = "librivox"

    reader: Literal["libritts"]
    language: Language = "eng_Latn"
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist
    text: Literal["normalized", "original"] = "normalized"  # which transcript to read

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        suffix = f".{self.text}.txt"
        for root in [self.root / split for split in self.splits] or [self.root]:
            found = False
            for _, files in walk(root) if root.is_dir() else ():
                texts = files_with_suffix(files, [suffix])
                found = found or bool(texts)
                yield from read_pairs(
                    audio_files(files),
                    texts,
                    root=self.root,
                    name=name,
                    language=self.language,
                    parse=lambda file, text: self._utterance(file, text, name=name),
                )
            if not found:
                raise corpus_not_found([root / "**" / f"*{suffix}"], name=name, reader=self.reader)

    def _utterance(self, file: NamedFile, text: str, *, name: str) -> Utterance:
        return make_utterance(
            name,
            utterance_id=file.stem,
            audio_path=audio_path(file.path.parent, file.path.name),
            text=text,
            language=self.language,
            speaker=self.speaker or file.stem.partition("_")[0],
        )
