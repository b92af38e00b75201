"""Mozilla Common Voice, one locale.

root/                       such as cv-corpus-17.0-2024-03-15/fa
    validated.tsv           client_id  path  sentence  …: tabs, UTF-8, a header; `list` names train.tsv or another
    train.tsv, dev.tsv, test.tsv                        read in its place with `official_splits`
    clips/<path>            mp3

Files with an `accent` column (to release 7) quote as CSV does; in newer ones a quote is text.
Language: configured, else the row's `locale`, else (no such column) the name of root.
Speaker: the start of client_id, unless configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, Self

import pydantic

from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.metadata import cells_by_column, parse_csv_line, parse_lines, read_columns
from preprocess.corpora.source import audio_path, find_file, make_utterance, row_language
from preprocess.utterance import Rejection, Utterance

REQUIRED = ("client_id", "path", "sentence")
ALL_CLIPS = "validated.tsv"
SPLIT_LISTS = {"train.tsv": "train", "dev.tsv": "validation", "test.tsv": "test"}


class CommonVoice(CustomColumnsConfig):
    """Reads Common Voice: every row of one list, or of the three lists of its splits."""

    reader: Literal["common_voice"]
    list: str = ALL_CLIPS  # table to read, such as train.tsv

    @pydantic.model_validator(mode="after")
    def _check_list(self) -> Self:
        if self.official_splits and self.list != ALL_CLIPS:
            raise ValueError(
                "official_splits reads train.tsv, dev.tsv and test.tsv; leave list out, or official_splits"
            )
        return self

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        for list_name in SPLIT_LISTS if self.official_splits else (self.list,):
            path = find_file([self.root / list_name], name=name, reader=self.reader)
            yield from self._rows(path, name=name, split=SPLIT_LISTS[list_name] if self.official_splits else "")

    def _rows(self, path: Path, *, name: str, split: str) -> Iterator[Utterance | Rejection]:
        columns = read_columns(path, separator="\t", required=(*REQUIRED, *self.custom_columns))
        is_quoted = "accent" in columns and "variant" not in columns
        language = self.language or ""
        if not language and "locale" not in columns:
            language = self.required_language(name=name, inferred=self.root.absolute().name)

        def parse(line: str) -> Utterance:
            fields = parse_csv_line(line, separator="\t") if is_quoted else line.split("\t")
            row = cells_by_column(fields, columns, required=REQUIRED)
            clip = PurePosixPath(row["path"] if row["path"].endswith(".mp3") else f"{row['path']}.mp3")
            return make_utterance(
                name,
                utterance_id=clip.stem,
                audio_path=audio_path(self.root, "clips", str(clip)),
                text=row["sentence"],
                language=language or row_language(row.get("locale", "")),
                speaker=self.speaker or row["client_id"][:16],
                split=split,
                custom=self.custom_json(row),
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse, header=True)
