"""Manifests of lhotse: of cuts, or of supervisions and their recordings, as `lhotse prepare` writes them.

root/
    cuts.jsonl.gz           of CutSet.to_file; `file` names another, such as train/cuts.jsonl
    <source>                of the recording: relative to root, or absolute and below root

With `recordings: NAME_recordings.jsonl.gz`, `file` is a manifest of supervisions.
An utterance is what one supervision says: all of its recording, or the part that the supervision covers. Its id is that
of the supervision, or of the cut where the cut has no other supervision. Rejected are cuts that mix several recordings,
take one of several channels, or transform the sound, and supervisions that the cut holds only a part of;
`CutSet.save_audios` makes recordings of such cuts.
Language: configured, else the supervision's. Speaker: configured, else the supervision's, else the source's name.
`custom_columns` are keys of the supervision's `custom`, else its `gender`, else keys of the `custom` of its cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import pydantic

from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.json_rows import parsed, read_rows
from preprocess.corpora.source import audio_path, below, find_file, make_utterance, row_language, shown
from preprocess.parts import part_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

MAX_UNSPOKEN_S = 0.1  # before or after its supervision, in a recording of which all is taken
TICK_S = 0.001  # manifests round their times


class _Source(pydantic.BaseModel):
    type: str
    channels: list[int]
    source: str


class _Recording(pydantic.BaseModel):
    id: str = ""
    sources: list[_Source]
    duration: pydantic.FiniteFloat
    transforms: list[Any] | None = None


class _Supervision(pydantic.BaseModel):
    id: str = ""
    recording_id: str = ""
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
    """Reads a manifest of cuts, or manifests of supervisions and recordings: an utterance for each supervision."""

    reader: Literal["lhotse"]
    file: str = "cuts.jsonl.gz"  # the manifest of cuts or supervisions, relative to root
    recordings: str | None = None  # the manifest of recordings, where `file` is one of supervisions

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        if self.recordings is None:
            yield from self._read(self.file, parse=lambda row: self._utterances(_cut(row), name=name), name=name)
            return
        recordings: dict[str, str] = {}  # id -> JSON, which takes less memory than what it is parsed into
        yield from self._read(self.recordings, parse=lambda row: _add_recording(row, recordings), name=name)
        yield from self._read(
            self.file, parse=lambda row: self._utterances(_cut_of(row, recordings), name=name), name=name
        )

    def _read(
        self, file: str, *, parse: Callable[[Mapping[str, Any]], Iterable[Utterance | Rejected]], name: str
    ) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / file], name=name, reader=self.reader)
        yield from read_rows(path, root=self.root, name=name, language=self.language or "", parse=parse)

    def _utterances(self, cut: _Cut, *, name: str) -> Iterator[Utterance | Rejected]:
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


def _cut(values: Mapping[str, Any]) -> _Cut:
    """The cut in a row."""
    if values.get("type") != "MonoCut":
        raise Rejected(Reason.BAD_METADATA_ROW, f"a cut of the type {str(values.get('type'))[:40]!r}, not MonoCut")
    return parsed(_Cut, values)


def _add_recording(values: Mapping[str, Any], recordings: dict[str, str]) -> Iterable[Rejected]:
    """Add the recording in a row; raises Rejected if an earlier row has its id."""
    recording = parsed(_Recording, values)
    if recording.id in recordings:
        raise Rejected(Reason.DUPLICATE_ID, f"an earlier recording has the id {shown(recording.id)}")
    kept = {"sources": [source.model_dump() for source in recording.sources], "duration": recording.duration}
    recordings[recording.id] = json.dumps(kept | {"transforms": [True] if recording.transforms else None})
    return ()


def _cut_of(values: Mapping[str, Any], recordings: Mapping[str, str]) -> _Cut:
    """The recording that the supervision in a row names, whole, as a cut with this supervision."""
    spoken = parsed(_Supervision, values)
    if spoken.recording_id not in recordings:
        raise Rejected(Reason.MISSING_AUDIO, f"no recording has the id {shown(spoken.recording_id)}")
    recording = parsed(_Recording, json.loads(recordings[spoken.recording_id]))
    return _Cut(
        type="MonoCut",
        id=spoken.id,
        start=0.0,
        duration=recording.duration,
        recording=recording,
        supervisions=[spoken],
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
