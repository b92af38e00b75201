"""VIVOS.

root/
    train/, test/                       those that exist; `splits` selects some
        prompts.txt                     <id> TEXT IN CAPITALS
        waves/<speaker>/<id>.wav        id = <speaker>_<number>, such as VIVOSSPK01_R001

Language: Vietnamese unless configured. Speaker: the start of the id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_splits
from preprocess.corpora.metadata import parse_lines
from preprocess.corpora.source import Language, SourceConfig, audio_path, make_utterance
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


class VIVOS(SourceConfig):
    """Reads VIVOS: every row of `prompts.txt` of every split."""

    reader: Literal["vivos"]
    language: Language = "vie_Latn"
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        default = ("train", "test")
        for path in find_splits(
            self.root, "{}/prompts.txt", splits=self.splits, default=default, name=name, reader=self.reader
        ):
            yield from self._rows(path, name=name)

    def _rows(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        def parse(line: str) -> Utterance:
            clip, _, text = line.strip().partition(" ")
            speaker, separator, _ = clip.partition("_")
            if not separator:
                raise Rejected(Reason.BAD_METADATA_ROW, "expected <speaker>_<number>, a blank, and the text")
            return make_utterance(
                name,
                utterance_id=clip,
                audio_path=audio_path(path.parent, "waves", speaker, f"{clip}.wav"),
                text=text,
                language=self.language,
                speaker=self.speaker or speaker,
            )

        return parse_lines(path, root=self.root, name=name, language=self.language, parse=parse)
