"""AISHELL-3.

root/
    train/, test/                       those that exist; `splits` selects some
        content.txt                     <id>.wav <tab> 广 guang3 州 zhou1 …: a character, then its pinyin
        wav/<speaker>/<id>.wav          id = <speaker: 7 signs><number: 4 digits>

The text is the characters alone.
Language: Chinese in simplified characters unless configured. Speaker: the start of the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_splits
from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import Language, SourceConfig, audio_path, make_utterance
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

SPEAKER_CHARACTERS = 7


class AISHELL3(SourceConfig):
    """Reads AISHELL-3: every row of `content.txt` of every split."""

    reader: Literal["aishell3"]
    language: Language = "zho_Hans"
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        default = ("train", "test")
        for path in find_splits(
            self.root, "{}/content.txt", splits=self.splits, default=default, name=name, reader=self.reader
        ):
            yield from self._rows(path, name=name)

    def _rows(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        def parse(line: str) -> Utterance:
            file, content = split_fields(line, "\t", ("id.wav", "characters and pinyin"))
            clip = file.removesuffix(".wav")
            speaker = clip[:SPEAKER_CHARACTERS]
            return make_utterance(
                name,
                utterance_id=clip,
                audio_path=audio_path(path.parent, "wav", speaker, f"{clip}.wav"),
                text=_characters(content),
                language=self.language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=self.language, parse=parse)


def _characters(content: str) -> str:
    signs = content.split()
    if len(signs) % 2 or any(not pinyin.isascii() for pinyin in signs[1::2]):
        raise Rejected(Reason.BAD_METADATA_ROW, "wanted a character, then its pinyin, and so on")
    return "".join(signs[::2])
