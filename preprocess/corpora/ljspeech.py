"""LJSpeech 1.1 and corpora in its layout.

root/metadata.csv            id|text|normalised text        UTF-8, no header, quotes are text
root/wavs/<id>.wav
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from preprocess.corpora.source import SourceConfig, audio_path, bad_row, open_metadata
from preprocess.utterance import Reason, Rejected, Rejection, Utterance


def read_ljspeech(source: SourceConfig, *, name: str) -> Iterator[Utterance | Rejection]:
    """Every row of metadata.csv, with its normalised text; the speaker is `LJ` unless configured."""
    path = open_metadata(source.root / "metadata.csv", name=name, reader="ljspeech")
    with path.open("rb") as file:  # split at \n only: U+2028 and the like are text
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield _utterance(line, source=source, name=name)
            except Rejected as error:
                yield bad_row(path, name=name, line=number, error=error)


def _utterance(line: bytes, *, source: SourceConfig, name: str) -> Utterance:
    utterance_id, text = _fields(line)
    return Utterance(
        id=f"{name}/{utterance_id}",
        audio_path=audio_path(Path(source.root), "wavs", f"{utterance_id}.wav"),
        text=text,
        language=source.language,
        speaker=f"{name}/{source.speaker or 'LJ'}",
    )


def _fields(line: bytes) -> tuple[str, str]:
    try:
        fields = line.decode("utf-8-sig").rstrip("\r\n").split("|")
    except UnicodeDecodeError as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"not UTF-8: {error.reason}") from error
    if len(fields) != 3 or not fields[0].strip():
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} fields, wanted id|text|normalised text")
    return fields[0].strip(), fields[2]
