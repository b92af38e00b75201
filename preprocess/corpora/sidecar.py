"""Pairs of an audio file and a text file of the same name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.audio_formats import AUDIO_SUFFIXES, OF_FFMPEG, OF_LIBSNDFILE
from preprocess.corpora.metadata import decode
from preprocess.corpora.source import MAX_TEXT_CHARACTERS, row_rejection
from preprocess.utterance import Reason, Rejected, Rejection, Utterance

MAX_TEXT_BYTES = 4 * MAX_TEXT_CHARACTERS


class NamedFile(NamedTuple):
    """A file, and the stem of its name, which audio and text share."""

    stem: str
    path: Path


def files_with_suffix(entries: Iterable[os.DirEntry[str]], suffixes: Sequence[str]) -> list[NamedFile]:
    """The files that end in one of these suffixes, in upper or lower case, in the order of the entries."""
    found: list[NamedFile] = []
    for entry in entries:
        suffix = next((suffix for suffix in suffixes if entry.name.lower().endswith(suffix)), "")
        if suffix and len(entry.name) > len(suffix):
            found.append(NamedFile(entry.name[: -len(suffix)], Path(entry.path)))
    return found


def audio_files(entries: Iterable[os.DirEntry[str]]) -> list[NamedFile]:
    """The recordings among these entries, in their order.

    Where a recording of a telephone lies beside what it was converted to, such as a wav, the telephone's is left out.
    """
    kept = list(entries)
    converted = {stem for stem, _ in files_with_suffix(kept, OF_LIBSNDFILE)}
    others = {path for stem, path in files_with_suffix(kept, OF_FFMPEG) if stem in converted}
    return [file for file in files_with_suffix(kept, AUDIO_SUFFIXES) if file.path not in others]


def read_pairs(
    audio: Sequence[NamedFile],
    texts: Sequence[NamedFile],
    *,
    root: Path,
    name: str,
    language: str,
    parse: Callable[[NamedFile, str], Utterance],
) -> Iterator[Utterance | Rejection]:
    """Yield an utterance for each audio file with its text, and a rejection for a file without its counterpart.

    If there are two texts for an audio file, the first one is used.
    """
    text_of = {stem: path for stem, path in reversed(texts)}
    for file in audio:
        try:
            if file.stem not in text_of:
                raise Rejected(Reason.EMPTY_TEXT, "no file with the text of this recording")
            yield parse(file, read_text(text_of[file.stem]))
        except Rejected as error:
            yield row_rejection(
                file.path, root=root, name=name, language=language, error=error, audio_path=str(file.path)
            )
    without_audio = text_of.keys() - {stem for stem, _ in audio}
    absent = Rejected(Reason.MISSING_AUDIO, "no recording of this text")
    for stem in sorted(without_audio):
        yield row_rejection(text_of[stem], root=root, name=name, language=language, error=absent)


def read_text(path: Path) -> str:
    """Read a text file; it must not be longer than one utterance can be.

    Raises:
        Rejected: the file cannot be read, is not UTF-8, or is too long.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"cannot read {path} ({error.strerror})") from error
    if len(data) > MAX_TEXT_BYTES:
        raise Rejected(Reason.TEXT_TOO_LONG, f"{path} has over {MAX_TEXT_BYTES} bytes")
    return decode(data.removeprefix(b"\xef\xbb\xbf")).strip()
