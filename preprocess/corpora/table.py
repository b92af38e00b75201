"""Any table with a row for each recording, or for each part of one; no layout is needed.

root/
    <file>                  .csv, .tsv or any other text, .jsonl, each also as .gz, or .parquet
    <audio>                 the path in the column, relative to root, or to `audio_root`

    file: metadata.csv
    columns: {audio: audio_file, text: transcription, speaker: speaker_name}    also id, language and split
    columns: {audio: recording, text: text, start: start, end: end}             or start and duration

A row with `start` is the part of its recording between these seconds. Without `id` it is the audio's path without its
suffix; that of a part ends in the milliseconds where it begins and ends. `header: false` names the columns 1, 2, …;
`suffix: .wav` is added to every path. `separator` is a tab in .tsv and else a comma; where it is a
comma, fields are quoted as in CSV (RFC 4180), else a quote is text, unless `quoted` is set.
Language: configured, else from its column. Speaker: configured, else from its column, else the source's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import pydantic

from preprocess.corpora.columns import Column
from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.official_splits import split_of_cell
from preprocess.corpora.rows import TableRow, cell_text, read_table_rows
from preprocess.corpora.source import (
    audio_path,
    find_file,
    make_utterance,
    row_language,
    row_rejection,
    seconds,
    without_suffix,
)
from preprocess.parts import part_id, part_path
from preprocess.utterance import Rejected, Rejection, Utterance
from shared.config import Config


class Columns(Config):
    """The names of the columns, by their content."""

    audio: Column  # path of the recording
    text: Column  # its text
    id: Column | None = None  # its id; null: the path without suffix
    speaker: Column | None = None  # its speaker; null: the source's name
    language: Column | None = None  # its language; null: the source's
    start: Column | None = None  # seconds at which it begins in its recording; null: rows are whole recordings
    end: Column | None = None  # seconds at which it ends; null: `duration` tells
    duration: Column | None = None  # its seconds; null: `end` tells
    split: Column | None = None  # its split: a name with train, dev, val, valid, validation or test, or nothing

    @pydantic.model_validator(mode="after")
    def _check_times(self) -> Self:
        if (self.start is None) != (self.end is None and self.duration is None) or (self.end and self.duration):
            raise ValueError("parts of recordings need start and end, or start and duration")
        return self


class Table(CustomColumnsConfig):
    """Reads one table file with a row per utterance."""

    reader: Literal["table"]
    file: str  # the table, relative to root
    columns: Columns
    # between fields; null: a tab in .tsv, else a comma
    separator: str | None = pydantic.Field(None, min_length=1, max_length=1)
    quoted: bool | None = None  # whether fields are quoted as in CSV; null: where the separator is a comma
    header: bool = True  # whether the first row names the columns; false: they are named 1, 2, …
    audio_root: Path = Path()  # folder, relative to root, to which the audio paths are relative
    suffix: str = ""  # added to every audio path

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / self.file], name=name, reader=self.reader)
        language = self.language or ""
        if self.columns.language is None:
            language = self.required_language(name=name)
        for row in self._rows(path):
            try:
                if isinstance(row.cells, Rejected):
                    raise row.cells
                yield self._utterance(row.cells, name=name, language=language)
            except Rejected as error:
                yield row_rejection(
                    path, root=self.root, name=name, line=row.number, row=row.text, language=language, error=error
                )

    def _rows(self, path: Path) -> Iterator[TableRow]:
        required = [*dict.fromkeys([*self.columns.model_dump(exclude_none=True).values(), *self.custom_columns])]
        return read_table_rows(
            path, required=required, separator=self.separator, is_quoted=self.quoted, has_header=self.header
        )

    def _utterance(self, cells: Mapping[str, Any], *, name: str, language: str) -> Utterance:
        columns = self.columns
        audio = f"{cell_text(cells, columns.audio)}{self.suffix}"
        utterance_id, path = without_suffix(audio), audio_path(self.root / self.audio_root, audio)
        if columns.start is not None:
            start_s, end_s = self._times(cells, start=columns.start)
            path = part_path(path, start_s=start_s, end_s=end_s)
            utterance_id = part_id(utterance_id, start_s=start_s, end_s=end_s)
        return make_utterance(
            name,
            utterance_id=cell_text(cells, columns.id) if columns.id else utterance_id,
            audio_path=path,
            text=cell_text(cells, columns.text),
            language=language or row_language(cell_text(cells, columns.language or "")),
            speaker=self.speaker or (cell_text(cells, columns.speaker) if columns.speaker else name),
            split=split_of_cell(cell_text(cells, columns.split)) if columns.split else "",
            custom=self.custom_json(cells),
        )

    def _times(self, cells: Mapping[str, Any], *, start: str) -> tuple[float, float]:
        """Where a part begins and ends, in seconds; raises Rejected if a cell is not a number."""
        start_s = _seconds(cells, start)
        end, duration = self.columns.end, self.columns.duration
        return start_s, _seconds(cells, end) if end is not None else start_s + _seconds(cells, duration or "")


def _seconds(cells: Mapping[str, Any], column: str) -> float:
    value = cells.get(column)
    return seconds(value if isinstance(value, float) else cell_text(cells, column), what=repr(column))
