"""Base class of the readers: settings of one source, and safe handling of the ids and paths in its metadata."""

from __future__ import annotations

import functools
import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar

import pydantic

from preprocess.corpora.columns import ScoreBounds
from preprocess.parts import names_a_file
from preprocess.utterance import NO_CUSTOM, Reason, Rejected, Rejection, Utterance
from shared.config import Config
from shared.errors import UserError
from shared.languages import resolve_language

# 10,000 characters are ten minutes of speech. Utterances are shuffled and must stay small.
MAX_TEXT_CHARACTERS = 10_000
MAX_NAME_BYTES = 512
MAX_PATH_BYTES = 4096
MAX_LANGUAGE_CHARACTERS = 64
MAX_SHOWN_CHARACTERS = 200

MAX_PLAIN_CHARACTERS = 200
_PLAIN_NAME = re.compile(rf"(?=[^.])[-.\w]{{1,{MAX_PLAIN_CHARACTERS}}}", re.ASCII)
_SURROGATE = re.compile("[\\ud800-\\udfff]")  # from bytes that are not UTF-8, or from JSON escapes
_UNPRINTABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # control characters and surrogates


def _resolved(language: str) -> str:
    try:
        return resolve_language(language)
    except UserError as error:
        raise ValueError(str(error)) from error


# A FLORES-200 code, or a name that means exactly one: ISO 639, BCP 47, a Common Voice locale.
Language = Annotated[str, pydantic.AfterValidator(_resolved)]

MAX_SCORE_NAME_CHARACTERS = 100
LICENSE = re.compile(r"[^\x00-\x1f|]{1,200}")  # a line that a cell of a table can hold


def _checked_scores(scores: dict[str, ScoreBounds]) -> dict[str, ScoreBounds]:
    for name in scores:
        if has_surrogate(name) or not 0 < len(name) <= MAX_SCORE_NAME_CHARACTERS:
            raise ValueError(f"{shown(name)}; expected a name of at most {MAX_SCORE_NAME_CHARACTERS} characters")
    return scores


class SourceConfig(Config):
    """Settings of one source: the corpus' folder, its language, and limits. Each reader adds its own options.

    A configured language or speaker overrides the corpus' own.
    """

    speaker_registry: ClassVar[str] = ""  # whose numbers the corpus' speakers are, if other corpora have them too

    reader: str  # layout of the corpus, one of `make corpora`
    root: Path  # folder of the corpus
    language: Language | None = None  # needed if the corpus does not state its own; overrides the corpus
    speaker: str | None = None  # replaces the speakers of the corpus
    # of the corpus, such as CC-BY-4.0 (SPDX) or "public domain"; the descriptions of the dataset state it
    license: str | None = pydantic.Field(None, pattern=f"^{LICENSE.pattern}$")
    # keep the corpus' own division into train, dev and test, which the names of folders and files state
    official_splits: bool = False
    weight: float = pydantic.Field(1.0, gt=0, le=100)  # how often an epoch of training uses each utterance
    include: Path | None = None  # a text file with an id a line: only these utterances are taken
    exclude: Path | None = None  # the same: these utterances are not taken
    # scores that other software measured, by a name such as utmos; utterances within their bounds are taken, and the
    # manifests keep the scores in the column `custom`
    scores: Annotated[dict[str, ScoreBounds], pydantic.AfterValidator(_checked_scores)] = pydantic.Field({})
    max_utterances: int | None = pydantic.Field(None, ge=1)  # number of utterances, chosen by hash before decoding
    max_hours: float | None = pydantic.Field(None, gt=0)  # hours of utterances that pass the checks, chosen by hash
    max_hours_per_speaker: float | None = pydantic.Field(None, gt=0)  # the same for each speaker

    @property
    def list_name(self) -> str:
        """The name of the one list or table that the source reads; empty if the source reads no such file."""
        return str(getattr(self, "file", ""))

    @abstractmethod
    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        """Read the metadata: yield every utterance of the corpus, and a rejection for every invalid row.

        Raises:
            UserError: the corpus is not found at its root.
        """

    def required_language(self, *, name: str, inferred: str | None = None) -> str:
        """The configured language, otherwise the one that the corpus' folder names.

        Args:
            name: of the source.
            inferred: a language's name taken from the corpus, if there is one.

        Raises:
            UserError: no language is known, or its name is unknown.
        """
        if self.language is not None:
            return self.language
        if inferred is None:
            raise UserError(
                f"sources.{name}.language: missing; the {self.reader} reader cannot infer it; "
                f"give it in the file or as sources.{name}.language=…"
            )
        try:
            return resolve_language(inferred)
        except UserError as error:
            raise UserError(
                f"sources.{name}.language: missing, and {inferred!r} is not a language's name; "
                f"give it in the file or as sources.{name}.language=…"
            ) from error


def seconds(value: object, *, what: str) -> float:
    """A time of the metadata.

    Raises:
        Rejected: the value is not a number.
    """
    try:
        return math.nan if "_" in str(value) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"its {what} is {shown(str(value))}, expected seconds") from error


def row_language(name: str) -> str:
    """The FLORES-200 code of the language that a row names.

    Raises:
        Rejected: the language is unknown.
    """
    code = _code_of(name.strip()) if len(name) <= MAX_LANGUAGE_CHARACTERS else None
    if code is None:
        raise Rejected(Reason.UNKNOWN_LANGUAGE, f"unknown language {shown(name)}")
    return code


@functools.lru_cache(maxsize=1024)
def _code_of(name: str) -> str | None:
    try:
        return resolve_language(name)
    except UserError:
        return None


def make_utterance(
    name: str,
    *,
    utterance_id: str,
    audio_path: str,
    text: str,
    language: str,
    speaker: str,
    split: str = "",
    custom: str = NO_CUSTOM,
) -> Utterance:
    """Make an utterance of source `name`.

    Args:
        split: the one that the corpus itself states; empty: none.
        custom: a JSON object, the further columns that the config asks for.

    Raises:
        Rejected: the id or the speaker is empty, unprintable, or leads out of the corpus; the text is too long or not
            valid Unicode.
    """
    for what, value in (("id", utterance_id), ("speaker", speaker)):
        _check_name(value, what=what)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise Rejected(Reason.TEXT_TOO_LONG, f"{len(text)} characters, at most {MAX_TEXT_CHARACTERS}")
    if has_surrogate(text):
        raise Rejected(Reason.BAD_METADATA_ROW, "half of a surrogate pair in the text")
    return Utterance(
        id=f"{name}/{utterance_id}",
        audio_path=audio_path,
        text=text,
        language=language,
        speaker=f"{name}/{speaker}",
        split=split,
        custom=custom,
    )


def has_surrogate(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which no file of UTF-8 can hold."""
    return _SURROGATE.search(text) is not None


def _check_name(value: str, *, what: str) -> None:
    if not value.strip():
        raise Rejected(Reason.BAD_METADATA_ROW, f"no {what}")
    if len(value.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        raise Rejected(Reason.BAD_METADATA_ROW, f"the {what} is longer than {MAX_NAME_BYTES} bytes")
    if value.startswith("/") or ".." in value.split("/") or _UNPRINTABLE.search(value):
        raise Rejected(Reason.UNSAFE_PATH, f"the {what} {shown(value)} leads out of the corpus or is not printable")


def shown(value: str) -> str:
    """A value of the metadata as a message shows it: printable, and only the beginning of a long one."""
    return repr(value if len(value) <= MAX_SHOWN_CHARACTERS else f"{value[:MAX_SHOWN_CHARACTERS]}…")


def audio_path(root: Path, *parts: str) -> str:
    """Join the path of an audio file below `root`.

    Raises:
        Rejected: a part, which comes from the corpus' metadata, is empty or would lead out of the corpus.
    """
    *folders, name = parts
    if _PLAIN_NAME.fullmatch(name) and (prefix := _prefix(root, tuple(folders))):
        return prefix + name
    return _checked_path(root, parts)


@functools.lru_cache(maxsize=1024)
def _prefix(root: Path, folders: tuple[str, ...]) -> str:
    """What stands before the name of a file in these folders; empty if not every plain name can follow it.

    Nearly all files of a corpus have plain names in few folders: they are listed in half the time.
    """
    longest = "x" * MAX_PLAIN_CHARACTERS
    try:
        return _checked_path(root, (*folders, longest)).removesuffix(longest)
    except Rejected:
        return ""


def _checked_path(root: Path, parts: tuple[str, ...]) -> str:
    relative = PurePosixPath(*parts)
    if not parts[-1].strip():
        raise Rejected(Reason.BAD_METADATA_ROW, "no path of an audio file")
    if len(str(relative).encode(errors="surrogatepass")) > MAX_PATH_BYTES:
        raise Rejected(Reason.BAD_METADATA_ROW, f"a path longer than {MAX_PATH_BYTES} bytes")
    if ".." in relative.parts or relative.is_absolute():
        raise Rejected(Reason.UNSAFE_PATH, f"{shown(str(relative))} leads out of the corpus")
    if _UNPRINTABLE.search(str(relative)):
        raise Rejected(Reason.UNSAFE_PATH, f"{shown(str(relative))} is not printable")
    if not names_a_file(str(relative)):
        raise Rejected(Reason.UNSAFE_PATH, f"{shown(str(relative))} ends as the path of a part of a file does")
    return str(root / relative)


def without_suffix(path: str) -> str:
    """The path without its suffix: the id of an utterance in a corpus without ids."""
    return str(PurePosixPath(path).parent / PurePosixPath(path).stem)


def below(root: Path, *, folder: Path, path: str) -> str:
    """The path of a file relative to `root`, from one that is relative to `folder`, or absolute.

    Raises:
        Rejected: it is absolute and not below `root`.
    """
    if not path.startswith("/"):
        return (PurePosixPath(folder.relative_to(root).as_posix()) / path).as_posix()
    for start in (root, root.absolute(), root.resolve()):
        if PurePosixPath(path).is_relative_to(start.as_posix()):
            return PurePosixPath(path).relative_to(start.as_posix()).as_posix()
    raise Rejected(Reason.UNSAFE_PATH, f"{shown(path)} is not below root; root may be any folder above the recordings")


def find_file(candidates: Sequence[Path], *, name: str, reader: str) -> Path:
    """The first candidate that is a file.

    Raises:
        UserError: no candidate is a file; the message lists them.
    """
    for path in candidates:
        if path.is_file():
            return path
    raise corpus_not_found(candidates, name=name, reader=reader)


def corpus_not_found(looked_for: Sequence[Path], *, name: str, reader: str) -> UserError:
    """The error for a corpus whose files are not found."""
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
    row: str = "",
    audio_path: str = "",
) -> Rejection:
    """The rejection of a metadata row, or of a whole file without `line`; its id is the file's name and the line.

    Args:
        row: the row's text, or the cell that names its clip; the message shows the beginning.
    """
    where = f"{path}" if line is None else f"{path} line {line}"
    file = path.relative_to(root) if path.is_relative_to(root) else path.name
    return Rejection(
        id=_printable(f"{name}/{file}" if line is None else f"{name}/{file}:{line}"),
        audio_path=_printable(audio_path),
        language=language,
        stage="corpus",
        reason=error.reason,
        message=_printable(f"{where}: {error.message}{f'; the row: {shown(row)}' if row else ''}"),
    )


def _printable(value: str) -> str:
    """Escape the bytes of file names that are not UTF-8; the rejected table could not store them."""
    return value.encode(errors="backslashreplace").decode()
