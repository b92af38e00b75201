"""Parquet files that hold the recordings themselves, as data sets on the Hugging Face Hub do.

root/
    <any folders>/
        <name>.parquet      `files` names some of them, such as data/train-*.parquet

    columns: {audio: audio, text: transcription, speaker: speaker_id}       also id, language and split

`audio` is a column of bytes, or of structs with a field `bytes`; its field `path` names the recording. Without `id` an
utterance's id is that name without its suffix, or where there is none the file's name and the number of the row.
Recordings are read where they lie: nothing is unpacked.
Language: configured, else from its column. Speaker: configured, else from its column, else the source's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from preprocess.corpora.columns import Column
from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.folders import find_below
from preprocess.corpora.official_splits import split_of_cell
from preprocess.corpora.rows import TableRow, cell_text
from preprocess.corpora.source import (
    audio_path,
    make_utterance,
    row_language,
    row_rejection,
    without_suffix,
)
from preprocess.parts import cell_path
from preprocess.utterance import Rejected, Rejection, Utterance
from shared.config import Config


class ParquetColumns(Config):
    """The names of the columns, by their content."""

    audio: Column = "audio"  # the recording
    text: Column  # its text
    id: Column | None = None  # its id; null: the recording's name, else the file's and the number of the row
    speaker: Column | None = None  # its speaker; null: the source's name
    language: Column | None = None  # its language; null: the source's
    split: Column | None = None  # its split: a name with train, dev, val, valid, validation or test, or nothing


class Parquet(CustomColumnsConfig):
    """Reads Parquet files that hold recordings, with a row per utterance."""

    reader: Literal["parquet"]
    files: str = "*.parquet"  # relative to root; a * stands for folders too
    columns: ParquetColumns

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.language or ""
        if self.columns.language is None:
            language = self.required_language(name=name)
        for path in find_below(self.root, self.files, name=name, reader=self.reader):
            yield from self._read(path, name=name, language=language)

    def _read(self, path: Path, *, name: str, language: str) -> Iterator[Utterance | Rejection]:
        from preprocess.corpora.parquet_rows import read_recording_rows  # with pyarrow, which configs load without

        columns = self.columns
        others = [*columns.model_dump(exclude_none=True, exclude={"audio"}).values(), *self.custom_columns]
        column, rows = read_recording_rows(path, audio=columns.audio, required=[*dict.fromkeys(others)])
        for row in rows:
            try:
                yield self._utterance(row, path=path, column=column, name=name, language=language)
            except Rejected as error:
                yield row_rejection(
                    path, root=self.root, name=name, line=row.number, row=row.text, language=language, error=error
                )

    def _utterance(self, row: TableRow, *, path: Path, column: int, name: str, language: str) -> Utterance:
        if isinstance(row.cells, Rejected):
            raise row.cells
        cells, columns = row.cells, self.columns
        return make_utterance(
            name,
            utterance_id=cell_text(cells, columns.id) if columns.id else self._id(row.number, cells, path=path),
            audio_path=cell_path(audio_path(path.parent, path.name), row=row.number, column=column),
            text=cell_text(cells, columns.text),
            language=language or row_language(cell_text(cells, columns.language or "")),
            speaker=self.speaker or (cell_text(cells, columns.speaker) if columns.speaker else name),
            split=split_of_cell(cell_text(cells, columns.split)) if columns.split else "",
            custom=self.custom_json(cells),
        )

    def _id(self, number: int, cells: Mapping[str, Any], *, path: Path) -> str:
        """The name of the recording, else that of the file and the number of the row."""
        recording = (cells.get(self.columns.audio) or {}).get("path")
        if recording:
            return without_suffix(PurePosixPath(recording).name)
        return f"{without_suffix(path.relative_to(self.root).as_posix())}/{number:07d}"
