"""Tars in the layout of WebDataset, in which Emilia and others are published.

root/
    <any folders>/
        <name>.tar              not compressed; `files` names some of them, such as EN/*.tar
            <key>.mp3           or another audio format
            <key>.txt           the text, or:
            <key>.json          {"text": …, "speaker": …, "language": …}; `text`, `speaker` name other keys

The members of one key lie one after the other; a key is the name up to the first dot. An utterance's id is its key.
Recordings are read where they lie: nothing is unpacked. Links and sparse members are rejected.
Language: configured, else from the JSON. Speaker: configured, else from the JSON, else the source's name.
"""

from __future__ import annotations

import codecs
import io
import itertools
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, NamedTuple

from preprocess.audio_formats import AUDIO_SUFFIXES
from preprocess.corpora.custom_columns import CustomColumnsConfig
from preprocess.corpora.folders import find_below
from preprocess.corpora.json_rows import json_object
from preprocess.corpora.metadata import decode
from preprocess.corpora.sidecar import MAX_TEXT_BYTES
from preprocess.corpora.source import (
    audio_path,
    make_utterance,
    row_language,
    row_rejection,
    without_suffix,
)
from preprocess.parts import member_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

MAX_JSON_BYTES = 1 << 20
MAX_MEMBERS = 64  # of one key
MAX_HEADER_BYTES = 1 << 16  # of a long name and the like


class TarMember(NamedTuple):
    """A file in a tar, and its suffix in lower case: what stands behind the first dot of its name."""

    info: tarfile.TarInfo
    suffix: str


class WebDataset(CustomColumnsConfig):
    """Reads tars of WebDataset: every key with a recording."""

    reader: Literal["webdataset"]
    files: str = "*.tar"  # the tars, relative to root; a * stands for folders too
    text: str = "text"  # the key of the text in the JSON
    speaker_key: str = "speaker"  # the key of the speaker in the JSON
    tar_in_id: bool = False  # ids begin with the path of the tar, for tars whose keys begin anew in each

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        for path in find_below(self.root, self.files, name=name, reader=self.reader):
            yield from self._read(path, name=name)

    def _read(self, path: Path, *, name: str) -> Iterator[Utterance | Rejection]:
        language = self.language or ""
        try:
            with path.open("rb") as opened:
                file = BoundedFile(opened)
                for key, members in itertools.groupby(_members(file, path=path), lambda one: _key(one.info.name)):
                    try:
                        held = [*itertools.islice(members, MAX_MEMBERS)]
                        yield self._utterance(key, held, file=opened, path=path, name=name)
                    except Rejected as error:
                        yield row_rejection(path / key, root=self.root, name=name, language=language, error=error)
                _check_end(file)
        except (tarfile.TarError, EOFError, ValueError) as error:
            damaged = Rejected(Reason.BAD_METADATA_ROW, f"no tar, or damaged or cut off: {error}")
            yield row_rejection(path, root=self.root, name=name, language=language, error=damaged)
        except OSError as error:
            raise UserError(f"{path}: cannot read the tar ({error.strerror})") from error

    def _utterance(
        self, key: str, members: Sequence[TarMember], *, file: IO[bytes], path: Path, name: str
    ) -> Utterance:
        if len(members) == MAX_MEMBERS:
            raise Rejected(Reason.BAD_METADATA_ROW, f"{MAX_MEMBERS} members or more")
        audio = [one for one in members if f".{one.suffix.rpartition('.')[2]}" in AUDIO_SUFFIXES]
        if len(audio) != 1:
            reason = Reason.BAD_METADATA_ROW if audio else Reason.MISSING_AUDIO
            raise Rejected(reason, f"{len(audio)} recordings among {', '.join(one.suffix for one in members)[:200]}")
        info = audio[0].info
        if not info.isreg() or info.issparse():
            raise Rejected(Reason.UNSAFE_PATH, "the recording is no plain member of the tar")
        if info.size == 0:
            raise Rejected(Reason.EMPTY_AUDIO, "the recording has no bytes")
        text, said = _read_sidecars(members, file=file)
        return make_utterance(
            name,
            utterance_id=f"{without_suffix(path.relative_to(self.root).as_posix())}/{key}" if self.tar_in_id else key,
            audio_path=member_path(audio_path(path.parent, path.name), start=info.offset_data, size_bytes=info.size),
            text=_value(said, self.text) if text is None else text,
            language=self.language or row_language(_value(said, "language")),
            speaker=self.speaker or _value(said, self.speaker_key) or name,
            custom=self.custom_json(said),
        )


class BoundedFile:
    """A file of which no more than a header is read at once: a tar may state a name of gigabytes."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.seek, self.tell = file.seek, file.tell
        self.end = 0  # of the last member, once it is known

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._file.read(size)


def _members(file: BoundedFile, *, path: Path) -> Iterator[TarMember]:
    """The members of a tar, in their order.

    Raises:
        tarfile.TarError: it is no tar, or damaged, or its end is missing.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    with tarfile.open(path, "r:", fileobj=file) as tar:  # type: ignore[call-overload]
        while (info := tar.next()) is not None:
            if info.size < 0 or tar.offset <= info.offset or tar.offset > size:  # tarfile would read one again for ever
                raise tarfile.ReadError(f"a member of {info.size} bytes")
            tar.members.clear()
            name = PurePosixPath(info.name).name
            if not info.isdir() and not name.startswith("."):  # macOS adds files to files
                yield TarMember(info, name.partition(".")[2].lower())
        file.end = tar.offset


def _check_end(file: BoundedFile) -> None:
    """Raise ReadError if there are no members, or unless zeros alone follow them, at least a block of them."""
    if file.end == 0:
        raise tarfile.ReadError("it has no members")
    file.seek(file.end)
    found = 0
    while block := file.read(MAX_HEADER_BYTES):
        found += len(block)
        if any(block):
            raise tarfile.ReadError("more follows after its end")
    if found < tarfile.BLOCKSIZE:
        raise tarfile.ReadError("its end is missing")


def _key(member: str) -> str:
    """The name of a member up to the first dot of its last part."""
    path = PurePosixPath(member)
    return (path.parent / path.name.partition(".")[0]).as_posix()


def _read_sidecars(members: Sequence[TarMember], *, file: IO[bytes]) -> tuple[str | None, dict[str, Any]]:
    """The text of a .txt, None if there is none, and the object of a .json, empty if there is none."""
    text, said = None, dict[str, Any]()
    for member in members:
        if member.suffix == "json":
            said = json_object(_content(member, file=file, max_bytes=MAX_JSON_BYTES))
        elif member.suffix == "txt":
            text = _content(member, file=file, max_bytes=MAX_TEXT_BYTES).strip()
    return text, said


def _content(member: TarMember, *, file: IO[bytes], max_bytes: int) -> str:
    if not member.info.isreg():
        raise Rejected(Reason.UNSAFE_PATH, f"the {member.suffix} is no plain member of the tar")
    if member.info.size > max_bytes:
        raise Rejected(Reason.TEXT_TOO_LONG, f"the {member.suffix} has over {max_bytes} bytes")
    file.seek(member.info.offset_data)
    return decode(file.read(member.info.size).removeprefix(codecs.BOM_UTF8))


def _value(said: dict[str, Any], key: str) -> str:
    """A value as text, empty where there is none; raises Rejected if it is neither text nor a whole number."""
    value = said.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Rejected(Reason.BAD_METADATA_ROW, f"{key!r} is a {type(value).__name__}, expected text")
    return str(value)
