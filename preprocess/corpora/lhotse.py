"""A manifest of lhotse's cuts.

root/
    cuts.jsonl.gz           of CutSet.to_file; `file` names another, such as train/cuts.jsonl
    <source>                of the recording: relative to root, or absolute and below root

Of manifests of recordings and supervisions, `lhotse cut simple -r RECORDINGS -s SUPERVISIONS cuts.jsonl.gz` makes one.
An utterance is what one supervision says: all of its recording, or the part that the supervision covers. Its id is that
of the cut, or of the supervision where the cut has several. Rejected are cuts that mix several recordings, take one of
several channels, or transform the sound, and supervisions that the cut holds only a part of;
`CutSet.save_audios` makes recordings of such cuts.
Language: configured, else the supervision's. Speaker: configured, else the supervision's, else the source's name.
`custom_columns` are keys of the supervision's `custom`, else its `gender`, else keys of the `custom` of its cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pydantic

from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.json_rows import parsed, read_rows
from preprocess.corpora.source import audio_path, below, find_file, make_utterance, row_language
from preprocess.parts import part_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

MAX_UNSPOKEN_S = 0.1  # before or after its supervision, in a recording of which all is taken
TICK_S = 0.001  # manifests round their times


class _Source(pydantic.BaseModel):
    type: str
    channels: list[int]
    source: str


class _Recording(pydantic.BaseModel):
    sources: list[_Source]
    duration: pydantic.FiniteFloat
    transforms: list[Any] | None = None


class _Supervision(pydantic.BaseModel):
    id: str = ""
    start: pydantic.FiniteFloat
    duration: pydantic.FiniteFloat
    text: str
    language: str | None = None
    speaker: str | int | None = None
    gender: Any = None
    custom: Any = None


class _Cut(pydantic.BaseModel):
    type: str
    id: str
    start: pydantic.FiniteFloat
    duration: pydantic.FiniteFloat
    recording: _Recording
    supervisions: list[_Supervision]
    custom: Any = None


class Lhotse(CustomColumnsConfig):
    """Reads a manifest of cuts, an utterance for each supervision."""

    reader: Literal["lhotse"]
    file: str = "cuts.jsonl.gz"  # the manifest, relative to root

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / self.file], name=name, reader=self.reader)
        yield from read_rows(
            path,
            root=self.root,
            name=name,
            language=self.language or "",
            parse=lambda row: self._utterances(row, name=name),
        )

    def _utterances(self, values: Mapping[str, Any], *, name: str) -> Iterator[Utterance | Rejected]:
        if values.get("type") != "MonoCut":
            raise Rejected(Reason.BAD_METADATA_ROW, f"a cut of the type {str(values.get('type'))[:40]!r}, not MonoCut")
        cut = parsed(_Cut, values)
        source = _checked_source(cut)
        path = audio_path(self.root, below(self.root, folder=self.root, path=source))
        for spoken in cut.supervisions:
            try:
                yield self._utterance(cut, spoken, path=path, name=name)
            except Rejected as error:
                yield error

    def _utterance(self, cut: _Cut, spoken: _Supervision, *, path: str, name: str) -> Utterance:
        return make_utterance(
            name,
            utterance_id=cut.id if len(cut.supervisions) == 1 else spoken.id,
            audio_path=_spoken_path(path, cut=cut, spoken=spoken),
            text=spoken.text,
            language=self.language or row_language(spoken.language or ""),
            speaker=self.speaker or (name if spoken.speaker is None else str(spoken.speaker)),
            custom=self.custom_json(_custom_values(cut, spoken)),
        )


def _custom_values(cut: _Cut, spoken: _Supervision) -> dict[str, Any]:
    """What the manifest says beside the fields that the reader needs."""
    gender = {"gender": spoken.gender} if "gender" in spoken.model_fields_set else {}
    from_cut, from_supervision = (one.custom if isinstance(one.custom, dict) else {} for one in (cut, spoken))
    return {**from_cut, **gender, **from_supervision}


def _checked_source(cut: _Cut) -> str:
    """The path of the recording; raises Rejected unless it is one file of one channel, with something said in it."""
    recording = cut.recording
    if not cut.supervisions:
        raise Rejected(Reason.BAD_METADATA_ROW, "no supervision says what is spoken")
    if [(one.type, one.channels) for one in recording.sources] != [("file", [0])]:
        raise Rejected(Reason.BAD_METADATA_ROW, "not one file of one channel")
    if recording.transforms:
        raise Rejected(Reason.BAD_METADATA_ROW, "its recording is transformed")
    return recording.sources[0].source


def _spoken_path(path: str, *, cut: _Cut, spoken: _Supervision) -> str:
    """The path of the recording, or of the part that a supervision covers; raises Rejected if the cut holds less."""
    end_s = spoken.start + spoken.duration
    if spoken.start < -TICK_S or end_s > cut.duration + TICK_S:
        raise Rejected(
            Reason.BAD_METADATA_ROW, f"speaks {spoken.start:.2f} to {end_s:.2f} s of a cut of {cut.duration:.2f} s"
        )
    start_s, end_s = cut.start + spoken.start, cut.start + end_s
    if -TICK_S <= start_s < 0:
        start_s = 0.0
    if max(start_s, cut.recording.duration - end_s) <= MAX_UNSPOKEN_S and len(cut.supervisions) == 1:
        return path
    return part_path(path, start_s=start_s, end_s=end_s)
