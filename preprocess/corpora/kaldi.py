"""A Kaldi data directory.

root/
    wav.scp         id path             relative to root, or absolute; a command (`sox … |`) is never run
    segments        id recording start end      where it is there: the ids of wav.scp are those of recordings
    text            id text
    utt2spk         id speaker          not needed where the speaker is configured
    utt2lang        id language         not needed where the language is configured

The files must be sorted by id (LC_ALL=C sort), as Kaldi requires, because they are read side by side;
a row out of order is rejected. Times are in seconds; an end of -1 is that of the recording. Absolute paths must be
below root; where recordings lie elsewhere, `audio_root` names a folder above them.
Language: configured, else utt2lang. Speaker: configured, else utt2spk.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from preprocess.corpora.metadata import Line, decode, read_lines
from preprocess.corpora.source import (
    SourceConfig,
    audio_path,
    below,
    find_file,
    make_utterance,
    row_language,
    row_rejection,
    seconds,
    shown,
)
from preprocess.parts import part_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

WAV_SCP, SEGMENTS = "wav.scp", "segments"
TO_THE_END = -1.0


class Entry(NamedTuple):
    """One line of one of the files."""

    key: bytes
    path: Path
    line: Line
    error: Rejected | None = None


class Kaldi(SourceConfig):
    """Reads a Kaldi data directory: every id; an id must be in all files."""

    reader: Literal["kaldi"]
    audio_root: Path = Path()  # folder, relative to root, below which absolute paths must be

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        recordings: dict[bytes, Entry] | None = None
        paths = self._paths(name=name)
        if (self.root / SEGMENTS).exists():
            recordings = {}
            for entry in _entries(paths.pop(0)):
                if entry.error:
                    yield self._rejection(entry, name=name, error=entry.error)
                else:
                    recordings[entry.key] = entry
            paths.append(self.root / SEGMENTS)
        files = [_entries(path) for path in paths]
        for _, group in itertools.groupby(heapq.merge(*files, key=lambda entry: entry.key), lambda entry: entry.key):
            entries: dict[str, Entry] = {}
            for entry in group:
                if entry.error:
                    yield self._rejection(entry, name=name, error=entry.error)
                else:
                    entries[entry.path.name] = entry
            if not entries:
                continue
            try:
                yield self._utterance(entries, recordings=recordings, name=name)
            except Rejected as error:
                yield self._rejection(next(iter(entries.values())), name=name, error=error)

    def _paths(self, *, name: str) -> list[Path]:
        required = [WAV_SCP, "text"]
        if self.speaker is None:
            required.append("utt2spk")
        if self.language is None:
            required.append("utt2lang")
        return [find_file([self.root / file], name=name, reader=self.reader) for file in required]

    def _rejection(self, entry: Entry, *, name: str, error: Rejected) -> Rejection:
        language = self.language or ""
        line = entry.line
        return row_rejection(
            entry.path,
            root=self.root,
            name=name,
            line=line.number,
            row=line.beginning,
            language=language,
            error=error,
        )

    def _utterance(
        self, entries: Mapping[str, Entry], *, recordings: Mapping[bytes, Entry] | None, name: str
    ) -> Utterance:
        if recordings is None:
            audio = self._recording(entries)
        else:
            audio = self._segment(_value(entries, SEGMENTS, absent=Reason.MISSING_AUDIO), recordings=recordings)
        return make_utterance(
            name,
            utterance_id=decode(next(iter(entries.values())).key),
            audio_path=audio,
            text=_value(entries, "text", absent=Reason.EMPTY_TEXT),
            language=self.language or row_language(_value(entries, "utt2lang", absent=Reason.UNKNOWN_LANGUAGE)),
            speaker=self.speaker or _value(entries, "utt2spk", absent=Reason.BAD_METADATA_ROW),
        )

    def _recording(self, entries: Mapping[str, Entry]) -> str:
        """The path of a recording; raises Rejected if there is none in the corpus."""
        recording = _value(entries, WAV_SCP, absent=Reason.MISSING_AUDIO)
        if recording.startswith("|") or recording.endswith("|"):
            raise Rejected(Reason.UNSAFE_PATH, f"{WAV_SCP} has a command here, which is never run; wanted a path")
        if not recording.startswith("/"):
            return audio_path(self.root, recording)
        folder = self.root / self.audio_root
        try:
            relative = below(folder, folder=folder, path=recording)
        except Rejected as error:
            message = f"{shown(recording)} is not below audio_root, {folder}; expected a folder above the recordings"
            raise Rejected(error.reason, message) from error
        return audio_path(folder, relative)

    def _segment(self, value: str, *, recordings: Mapping[bytes, Entry]) -> str:
        """The path of a part of a recording, from what stands behind its id in `segments`."""
        fields = value.split()
        if len(fields) != 3:
            raise Rejected(Reason.BAD_METADATA_ROW, f"{SEGMENTS}: {len(fields)} fields after the id, expected 3")
        recording, start, end = fields
        entry = recordings.get(recording.encode())
        if entry is None:
            raise Rejected(Reason.MISSING_AUDIO, f"no recording {shown(recording)} in {WAV_SCP}")
        end_s = seconds(end, what="end")
        return part_path(
            self._recording({WAV_SCP: entry}),
            start_s=seconds(start, what="start"),
            end_s=None if end_s == TO_THE_END else end_s,
        )


def _entries(path: Path) -> Iterator[Entry]:
    """Yield the lines in the order of their ids; a line out of order has an error, and the id of the line before."""
    last = b""
    for line in read_lines(path):
        key = (line.data.split(maxsplit=1) or [b""])[0]
        if key > last:
            last = key
            yield Entry(key, path, line)
        elif key == last:
            yield Entry(last, path, line, Rejected(Reason.DUPLICATE_ID, "the id of the row before"))
        else:
            message = "out of order; sort the files of this directory with LC_ALL=C sort"
            yield Entry(last, path, line, Rejected(Reason.BAD_METADATA_ROW, message))


def _value(entries: Mapping[str, Entry], file: str, *, absent: Reason) -> str:
    """The value of an id in a file.

    Raises:
        Rejected: the file does not have the id, or the line cannot be read.
    """
    if file not in entries:
        raise Rejected(absent, f"no such id in {file}")
    line = entries[file].line
    try:
        return line._replace(data=b"".join(line.data.split(maxsplit=1)[1:])).text.strip()
    except Rejected as error:
        raise Rejected(error.reason, f"{file}: {error.message}") from error
