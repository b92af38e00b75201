"""Long recordings, each with a file of times and texts beside it: subtitles, labels, a TextGrid or a CTM.

root/
    <any folders>/
        <name>.flac             or another audio format, suffix in upper or lower case
        <name>.srt or .vtt      subtitles
        <name>.txt              labels of Audacity: start<tab>end<tab>text
        <name>.TextGrid         of Praat and the Montreal Forced Aligner; `tier: words` names the tier
        <name>.ctm              words: recording, channel, start, duration, word

An utterance is the part of its recording between two times, cut to the sample; its id is the path of the recording,
and the milliseconds where it begins and ends. Intervals of a TextGrid without text are pauses and are left out.
A recording with several such files, or with none, is rejected; `suffix: .srt` reads one kind only. Files are UTF-8;
a TextGrid may be UTF-16.
`join_s: 12` joins what aligners give word by word into parts of at most 12 seconds: a part ends at a pause of more
than a second, at a word that the aligner did not know, and else at the longest pause of its second half.
A text without times must be aligned first, for example by the Montreal Forced Aligner or WhisperX.
Language: configured. Speaker: configured, else the source's name.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pydantic

from preprocess.audio_formats import AUDIO_SUFFIXES
from preprocess.corpora.cues import CUE_SUFFIXES, Cue, read_cues
from preprocess.corpora.folders import walk
from preprocess.corpora.joined_cues import join_cues
from preprocess.corpora.metadata import decode
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix
from preprocess.corpora.source import SourceConfig, audio_path, corpus_not_found, make_utterance, row_rejection
from preprocess.parts import part_id, part_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

MAX_TRANSCRIPT_BYTES = 1 << 24  # a day of speech takes 2 MB, as words in a TextGrid 10 MB


class Transcripts(SourceConfig):
    """Reads a folder of recordings with times and texts: every recording below root."""

    reader: Literal["transcripts"]
    suffix: Literal[".srt", ".vtt", ".txt", ".TextGrid", ".ctm"] | None = None  # of the files of times; null: any
    tier: str | None = None  # of TextGrids; null: the only one
    join_s: float | None = pydantic.Field(None, gt=0, le=600)  # join words into parts of this many seconds; null: none

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.required_language(name=name)
        suffixes = CUE_SUFFIXES if self.suffix is None else (self.suffix.lower(),)
        found = False
        for _, files in walk(self.root):
            audio, transcripts = audio_files(files), files_with_suffix(files, suffixes)
            found = found or bool(audio)
            beside: dict[str, list[Path]] = {}
            for stem, path in transcripts:
                beside.setdefault(stem, []).append(path)
            for file in audio:
                yield from self._cut(file, beside.get(file.stem, []), name=name, language=language)
            stems = {stem for stem, _ in audio}
            absent = Rejected(Reason.MISSING_AUDIO, "no recording of these times and texts")
            for path in (path for stem, path in transcripts if stem not in stems):
                yield row_rejection(path, root=self.root, name=name, language=language, error=absent)
        if not found:
            raise corpus_not_found(
                [self.root / "**" / f"*{suffix}" for suffix in AUDIO_SUFFIXES], name=name, reader=self.reader
            )

    def _cut(
        self, file: NamedFile, transcripts: Sequence[Path], *, name: str, language: str
    ) -> Iterator[Utterance | Rejection]:
        path = file.path

        def rejected(error: Rejected, *, line: int | None = None) -> Rejection:
            recording = str(file.path)
            return row_rejection(
                path, root=self.root, name=name, language=language, error=error, line=line, audio_path=recording
            )

        try:
            path = _only(transcripts)
            found = read_cues(_read_lines(path), suffix=path.suffix.lower(), tier=self.tier)
            is_empty = True
            for number, cue in found if self.join_s is None else join_cues([*found], max_s=self.join_s):
                is_empty = False
                try:
                    yield self._utterance(file, cue, name=name, language=language)
                except Rejected as error:
                    yield rejected(error, line=number)
            if is_empty:
                raise Rejected(Reason.EMPTY_TEXT, "no text between two times")
        except Rejected as error:
            yield rejected(error)

    def _utterance(self, file: NamedFile, cue: Cue | Rejected, *, name: str, language: str) -> Utterance:
        if isinstance(cue, Rejected):
            raise cue
        recording = (file.path.parent.relative_to(self.root) / file.stem).as_posix()
        path = part_path(audio_path(file.path.parent, file.path.name), start_s=cue.start_s, end_s=cue.end_s)
        return make_utterance(
            name,
            utterance_id=part_id(recording, start_s=cue.start_s, end_s=cue.end_s),
            audio_path=path,
            text=cue.text,
            language=language,
            speaker=self.speaker or name,
        )


def _only(transcripts: Sequence[Path]) -> Path:
    """The file of times and texts; raises Rejected if there is none, or if there are several."""
    if not transcripts:
        raise Rejected(Reason.EMPTY_TEXT, "no file with the times and texts of this recording")
    if len(transcripts) > 1:
        names = ", ".join(path.name for path in transcripts)
        raise Rejected(Reason.BAD_METADATA_ROW, f"several files of times and texts: {names}; name one kind as `suffix`")
    return transcripts[0]


def _read_lines(path: Path) -> list[str]:
    """The lines of a file of times and texts.

    Raises:
        Rejected: the file is too large, or is neither UTF-8 nor UTF-16.
        UserError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TRANSCRIPT_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot read the times and texts ({error.strerror})") from error
    if len(data) > MAX_TRANSCRIPT_BYTES:
        raise Rejected(Reason.BAD_METADATA_ROW, f"over {MAX_TRANSCRIPT_BYTES} bytes of times and texts")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise Rejected(Reason.BAD_METADATA_ROW, f"not UTF-16: {error.reason}") from error
    else:
        text = decode(data.removeprefix(codecs.BOM_UTF8))
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
