"""VCTK 0.92 and 0.80.

root/                                   VCTK-Corpus-0.92
    txt/p225/p225_003.txt
    wav48_silence_trimmed/p225/         p225_003_mic1.flac, p225_003_mic2.flac: `mic` selects one
root/                                   VCTK-Corpus (0.80)
    txt/p225/p225_003.txt
    wav48/p225/p225_003.wav             the one microphone is mic1

Recordings without text (p315) and texts without a recording by that microphone (p280) are rejected.
Language: English unless configured. Speaker: the name of the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from preprocess.audio_formats import OF_LIBSNDFILE
from preprocess.corpora.folders import is_file, list_folder
from preprocess.corpora.sidecar import NamedFile, files_with_suffix, read_pairs
from preprocess.corpora.source import (
    Language,
    SourceConfig,
    audio_path,
    corpus_not_found,
    make_utterance,
)
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError


class VCTK(SourceConfig):
    """Reads VCTK: every recording of every speaker by one of the microphones."""

    reader: Literal["vctk"]
    language: Language = "eng_Latn"
    mic: Literal["mic1", "mic2"] = "mic1"  # microphone of version 0.92

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        texts, new, old = self.root / "txt", self.root / "wav48_silence_trimmed", self.root / "wav48"
        if not texts.is_dir() or not (new.is_dir() or old.is_dir()):
            raise corpus_not_found(
                [texts / "<speaker>", new / "<speaker>", old / "<speaker>"], name=name, reader=self.reader
            )
        if self.mic == "mic2" and not new.is_dir():
            raise UserError(f"sources.{name}.mic: VCTK 0.80 has mic1 only; expected {new} of VCTK 0.92")
        audio = new if new.is_dir() else old
        suffixes = [f"_{self.mic}{suffix}" for suffix in OF_LIBSNDFILE] if new.is_dir() else OF_LIBSNDFILE
        for speaker in sorted({*_folders(texts), *_folders(audio)}):
            yield from read_pairs(
                _files(audio / speaker, suffixes),
                _files(texts / speaker, [".txt"]),
                root=self.root,
                name=name,
                language=self.language,
                parse=lambda file, text: self._utterance(file, text, name=name),
            )

    def _utterance(self, file: NamedFile, text: str, *, name: str) -> Utterance:
        return make_utterance(
            name,
            utterance_id=file.stem,
            audio_path=audio_path(file.path.parent, file.path.name),
            text=text,
            language=self.language,
            speaker=self.speaker or file.path.parent.name,
        )


def _folders(folder: Path) -> list[str]:
    return [entry.name for entry in list_folder(folder) if Path(entry.path).is_dir()]


def _files(folder: Path, suffixes: Sequence[str]) -> list[NamedFile]:
    return files_with_suffix(filter(is_file, list_folder(folder)), suffixes) if folder.is_dir() else []
