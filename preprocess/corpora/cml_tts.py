"""CML-TTS, one language.

root/                               such as cml_tts_dataset_italian_v0.1
    train.csv, dev.csv, test.csv    wav_filename|wav_filesize|transcript|…|client_id: `|`, a header
    <wav_filename>                  such as train/audio/<speaker>/<book>/<id>.wav

Fields are quoted as in CSV where they hold a quote. `splits` selects lists, such as train.
Language: configured, else from root's name. Speaker: client_id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from preprocess.corpora.folders import find_splits
from preprocess.corpora.language_names import language_from_name
from preprocess.corpora.metadata import cells_by_column, parse_csv_line, parse_lines, read_columns
from preprocess.corpora.source import SourceConfig, audio_path, make_utterance, without_suffix
from preprocess.utterance import Rejection, Utterance

REQUIRED = ("wav_filename", "transcript", "client_id")


class CMLTTS(SourceConfig):
    """Reads CML-TTS: every row of the lists that exist."""

    reader: Literal["cml_tts"]
    splits: tuple[str, ...] = ()  # folders or lists to read, such as train; empty: all that exist

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.required_language(name=name, inferred=language_from_name(self.root))
        default = ("train", "dev", "test")
        for path in find_splits(
            self.root, "{}.csv", splits=self.splits, default=default, name=name, reader=self.reader
        ):
            yield from self._rows(path, name=name, language=language)

    def _rows(self, path: Path, *, name: str, language: str) -> Iterator[Utterance | Rejection]:
        columns = read_columns(path, separator="|", required=REQUIRED)

        def parse(line: str) -> Utterance:
            row = cells_by_column(parse_csv_line(line, separator="|"), columns, required=REQUIRED)
            return make_utterance(
                name,
                utterance_id=without_suffix(row["wav_filename"]),
                audio_path=audio_path(self.root, row["wav_filename"]),
                text=row["transcript"],
                language=language,
                speaker=self.speaker or row["client_id"],
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse, header=True)
