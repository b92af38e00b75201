"""A manifest of lhotse's cuts, each a whole recording with one supervision.

root/
    cuts.jsonl.gz           of CutSet.to_file; `file` names another, such as train/cuts.jsonl
    <source>                of the recording: relative to root, or absolute and below root

Of manifests of recordings and supervisions, `lhotse cut simple -r RECORDINGS -s SUPERVISIONS cuts.jsonl.gz` makes one.
Cuts that are a part of a recording, mix several, take one of several channels, or transform the sound are rejected;
`lhotse cut trim-to-supervisions` and `CutSet.save_audios` make recordings of them.
Language: configured, else the supervision's. Speaker: configured, else the supervision's, else the source's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pydantic

from preprocess.corpora.json_rows import parsed, read_rows
from preprocess.corpora.source import SourceConfig, audio_path, below, find_file, make_utterance, row_language
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

MAX_UNSPOKEN_S = 0.1  # of a recording, before or after its supervision


class _Source(pydantic.BaseModel):
    type: str
    channels: list[int]
    source: str


class _Recording(pydantic.BaseModel):
    sources: list[_Source]
    duration: pydantic.FiniteFloat
    transforms: list[Any] | None = None


class _Supervision(pydantic.BaseModel):
    start: pydantic.FiniteFloat
    duration: pydantic.FiniteFloat
    text: str
    language: str | None = None
    speaker: str | int | None = None


class _Cut(pydantic.BaseModel):
    type: str
    id: str
    start: pydantic.FiniteFloat
    duration: pydantic.FiniteFloat
    recording: _Recording
    supervisions: list[_Supervision]


class Lhotse(SourceConfig):
    """Reads a manifest of cuts; an utterance's id is that of its cut."""

    reader: Literal["lhotse"]
    file: str = "cuts.jsonl.gz"  # the manifest, relative to root

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / self.file], name=name, reader=self.reader)
        yield from read_rows(
            path,
            root=self.root,
            name=name,
            language=self.language or "",
            parse=lambda row: self._utterance(row, name=name),
        )

    def _utterance(self, values: Mapping[str, Any], *, name: str) -> Utterance:
        if values.get("type") != "MonoCut":
            raise Rejected(Reason.BAD_METADATA_ROW, f"a cut of the type {str(values.get('type'))[:40]!r}, not MonoCut")
        cut = parsed(_Cut, values)
        _check_whole(cut)
        (spoken,), (source,) = cut.supervisions, cut.recording.sources
        return make_utterance(
            name,
            utterance_id=cut.id,
            audio_path=audio_path(self.root, below(self.root, folder=self.root, path=source.source)),
            text=spoken.text,
            language=self.language or row_language(spoken.language or ""),
            speaker=self.speaker or (name if spoken.speaker is None else str(spoken.speaker)),
        )


def _check_whole(cut: _Cut) -> None:
    """Raise Rejected unless the recording is one file of one channel, and one supervision covers all of it."""
    recording = cut.recording
    if len(cut.supervisions) != 1:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(cut.supervisions)} supervisions, expected one")
    if [(one.type, one.channels) for one in recording.sources] != [("file", [0])]:
        raise Rejected(Reason.BAD_METADATA_ROW, "not one file of one channel")
    if recording.transforms:
        raise Rejected(Reason.BAD_METADATA_ROW, "its recording is transformed")
    (spoken,) = cut.supervisions
    begin_s = cut.start + spoken.start
    end_s = begin_s + spoken.duration
    if max(begin_s, cut.start, recording.duration - min(end_s, cut.start + cut.duration)) > MAX_UNSPOKEN_S:
        raise Rejected(
            Reason.BAD_METADATA_ROW,
            f"speaks {begin_s:.2f} to {end_s:.2f} s of a recording of {recording.duration:.2f} s: cut recordings first",
        )
