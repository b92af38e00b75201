"""What a config says of one source; how readers name utterances and find their files, safely."""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import pydantic

from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.config import Config
from shared.errors import UserError
from shared.languages import resolve_language

# libsndfile tells them by content; this is how files without a stated suffix are found.
AUDIO_SUFFIXES = (".wav", ".flac", ".mp3", ".opus", ".ogg", ".sph", ".aiff", ".au", ".caf", ".w64")

# 10,000 characters are ten minutes of speech. References are shuffled, so they are kept small.
MAX_TEXT_CHARACTERS = 10_000
MAX_NAME_BYTES = 512
MAX_PATH_BYTES = 4096
MAX_LANGUAGE_CHARACTERS = 64
MAX_SHOWN_CHARACTERS = 200

_SURROGATE = re.compile("[\\ud800-\\udfff]")  # stands for a byte that is no UTF-8, or comes of JSON's escapes
_UNPRINTABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # control characters and surrogates


def _resolved(language: str) -> str:
    try:
        return resolve_language(language)
    except UserError as error:
        raise ValueError(str(error)) from error


# A FLORES-200 code, or any name that means just one: ISO 639, BCP 47, a Common Voice locale.
Language = Annotated[str, pydantic.AfterValidator(_resolved)]


class SourceConfig(Config):
    """One corpus: its folder, its language, and how much of it is wanted. Each reader adds its own options.

    A configured language or speaker replaces what the corpus says.
    """

    reader: str  # layout of the corpus, one of `make corpora`
    root: Path  # folder of the corpus
    language: Language | None = None  # needed where the corpus does not say; replaces what it says
    speaker: str | None = None  # replaces the speakers of the corpus
    weight: float = pydantic.Field(1.0, gt=0, le=100)  # how often an epoch of training uses each utterance
    max_utterances: int | None = pydantic.Field(None, ge=1)  # number of utterances, chosen by hash before decoding
    max_hours: float | None = pydantic.Field(None, gt=0)  # hours of utterances that pass the checks, chosen by hash
    max_hours_per_speaker: float | None = pydantic.Field(None, gt=0)  # the same for each speaker

    @abstractmethod
    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        """Every utterance of the corpus, and the rows that are none; metadata is read, audio is not.

        Raises:
            UserError: the corpus is not where it should be.
        """

    def required_language(self, *, name: str, told: str | None = None) -> str:
        """The configured language, else the one that the corpus is `told` by.

        Raises:
            UserError: there is none, or it is unknown.
        """
        if self.language is not None:
            return self.language
        if told is None:
            raise UserError(f"sources.{name}.language: missing; the {self.reader} corpus does not say its own")
        try:
            return resolve_language(told)
        except UserError as error:
            raise UserError(f"sources.{name}.language: missing, and {told!r} is no language's name") from error


def row_language(told: str) -> str:
    """The FLORES-200 code of the language that a row is told by.

    Raises:
        Rejected: it is unknown.
    """
    code = _code_of(told.strip()) if len(told) <= MAX_LANGUAGE_CHARACTERS else None
    if code is None:
        raise Rejected(Reason.UNKNOWN_LANGUAGE, f"unknown language {_shown(told)}")
    return code


@functools.lru_cache(maxsize=1024)
def _code_of(told: str) -> str | None:
    try:
        return resolve_language(told)
    except UserError:
        return None


def make_utterance(
    name: str, *, utterance_id: str, audio_path: str, text: str, language: str, speaker: str
) -> Utterance:
    """An utterance of source `name`.

    Raises:
        Rejected: its id or speaker is empty, unprintable, or climbs; its text is too long or no Unicode.
    """
    for what, value in (("id", utterance_id), ("speaker", speaker)):
        _check_name(value, what=what)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise Rejected(Reason.TEXT_TOO_LONG, f"{len(text)} characters, at most {MAX_TEXT_CHARACTERS}")
    if _SURROGATE.search(text):
        raise Rejected(Reason.BAD_METADATA_ROW, "half of a surrogate pair in the text")
    return Utterance(
        id=f"{name}/{utterance_id}",
        audio_path=audio_path,
        text=text,
        language=language,
        speaker=f"{name}/{speaker}",
    )


def _check_name(value: str, *, what: str) -> None:
    if not value.strip():
        raise Rejected(Reason.BAD_METADATA_ROW, f"no {what}")
    if len(value.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        raise Rejected(Reason.BAD_METADATA_ROW, f"the {what} is longer than {MAX_NAME_BYTES} bytes")
    if value.startswith("/") or ".." in value.split("/") or _UNPRINTABLE.search(value):
        raise Rejected(Reason.UNSAFE_PATH, f"the {what} {_shown(value)} leads out of the corpus or is not printable")


def _shown(value: str) -> str:
    return repr(value if len(value) <= MAX_SHOWN_CHARACTERS else f"{value[:MAX_SHOWN_CHARACTERS]}…")


def audio_path(root: Path, *parts: str, may_be_absolute: bool = False) -> str:
    """The path of an audio file below `root`.

    Raises:
        Rejected: a part, which comes from the corpus' metadata, would lead out of it.
    """
    relative = PurePosixPath(*parts)
    if not parts[-1].strip():
        raise Rejected(Reason.BAD_METADATA_ROW, "no path of an audio file")
    if len(str(relative).encode(errors="surrogatepass")) > MAX_PATH_BYTES:
        raise Rejected(Reason.BAD_METADATA_ROW, f"a path longer than {MAX_PATH_BYTES} bytes")
    if ".." in relative.parts or (relative.is_absolute() and not may_be_absolute):
        raise Rejected(Reason.UNSAFE_PATH, f"{_shown(str(relative))} leads out of the corpus")
    if _UNPRINTABLE.search(str(relative)):
        raise Rejected(Reason.UNSAFE_PATH, f"{_shown(str(relative))} is not printable")
    return str(root / relative)


def without_suffix(path: str) -> str:
    """The id of an utterance that has none but the path of its audio."""
    return str(PurePosixPath(path).parent / PurePosixPath(path).stem)


def find_file(candidates: Sequence[Path], *, name: str, reader: str) -> Path:
    """The first of these that is a file.

    Raises:
        UserError: none is; the message says what was looked for.
    """
    for path in candidates:
        if path.is_file():
            return path
    raise corpus_not_found(candidates, name=name, reader=reader)


def corpus_not_found(looked_for: Sequence[Path], *, name: str, reader: str) -> UserError:
    """The error of a corpus that is not where it should be."""
    files = " or ".join(map(str, looked_for))
    return UserError(f"sources.{name}: the {reader} reader looked for {files}, which is not there; is root right?")


def row_rejection(
    path: Path,
    *,
    root: Path,
    name: str,
    language: str,
    error: Rejected,
    line: int | None = None,
    audio_path: str = "",
) -> Rejection:
    """The rejection of a metadata row, or of a whole file, which has no id of its own that could be trusted."""
    file = path.relative_to(root) if path.is_relative_to(root) else path.name
    return Rejection(
        id=_printable(f"{name}/{file}" if line is None else f"{name}/{file}:{line}"),
        audio_path=_printable(audio_path),
        language=language,
        stage="corpus",
        reason=error.reason,
        message=_printable(f"{path}: {error.message}" if line is None else f"{path} line {line}: {error.message}"),
    )


def _printable(value: str) -> str:
    """Names of files are bytes, and those that are not UTF-8 could not be written down."""
    return value.encode(errors="backslashreplace").decode()
