"""A NeMo manifest.

root/
    manifest.json           a JSON object a line; `file` names another, such as train/manifest.jsonl or .json.gz
                            {"audio_filepath": …, "text": …, "duration": 3.2, "speaker": 7, "lang": "en"}
    <audio_filepath>        relative to the manifest's folder, or absolute and below root

`text` names another key, such as normalized_text. A row with an `offset` is the part of its recording that begins there
and lasts `duration`, both in seconds, also where it is 0. An utterance's id is the path of its audio below root,
without suffix; that of a part ends in the milliseconds where it begins and ends.
Language: configured, else `lang`. Speaker: configured, else `speaker`, else the source's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pydantic

from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.json_rows import parsed, read_rows
from preprocess.corpora.source import (
    audio_path,
    below,
    find_file,
    make_utterance,
    row_language,
    seconds,
    without_suffix,
)
from preprocess.parts import part_id, part_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


class _Row(pydantic.BaseModel):
    """What a row must hold; its text is read by the key that is asked for."""

    audio_filepath: str
    offset: pydantic.FiniteFloat | None = None
    duration: Any = None  # read where there is an offset
    speaker: str | int | None = None
    lang: str | None = None


class NeMo(CustomColumnsConfig):
    """Reads a manifest of NeMo: a row for each recording, or part of one."""

    reader: Literal["nemo"]
    file: str = "manifest.json"  # the manifest, relative to root
    text: str = "text"  # the key of the text

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / self.file], name=name, reader=self.reader)
        yield from read_rows(
            path,
            root=self.root,
            name=name,
            language=self.language or "",
            parse=lambda row: [self._utterance(row, folder=path.parent, name=name)],
        )

    def _utterance(self, values: Mapping[str, Any], *, folder: Path, name: str) -> Utterance:
        row = parsed(_Row, values)
        text = values.get(self.text)
        if not isinstance(text, str):
            raise Rejected(Reason.BAD_METADATA_ROW, f"no text in {self.text!r}")
        audio = below(self.root, folder=folder, path=row.audio_filepath)
        utterance_id, path = without_suffix(audio), audio_path(self.root, audio)
        if row.offset or (row.offset is not None and row.duration is not None):
            end_s = None if row.duration is None else row.offset + seconds(row.duration, what="duration")
            path = part_path(path, start_s=row.offset, end_s=end_s)
            utterance_id = part_id(utterance_id, start_s=row.offset, end_s=end_s)
        return make_utterance(
            name,
            utterance_id=utterance_id,
            audio_path=path,
            text=text,
            language=self.language or row_language(row.lang or ""),
            speaker=self.speaker or (name if row.speaker is None else str(row.speaker)),
            custom=self.custom_json(values),
        )
