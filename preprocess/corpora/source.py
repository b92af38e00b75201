"""What a config says of one source, and how its files are named safely."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal

import pydantic

from preprocess.utterance import Reason, Rejected, Rejection
from shared.config import Config
from shared.errors import UserError
from shared.languages import language_id


class SourceConfig(Config):
    """One corpus: its reader, its folder and its language."""

    reader: Literal["common_voice", "ljspeech"]
    root: Path
    language: str
    speaker: str | None = None  # of a corpus with one speaker; without it the reader's own

    @pydantic.field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        try:
            language_id(language)
        except UserError as error:
            raise ValueError(str(error)) from error
        return language


def audio_path(root: Path, *parts: str) -> str:
    """The path of an audio file below `root`.

    Raises:
        Rejected: a part, which comes from the corpus' metadata, would lead out of it.
    """
    relative = PurePosixPath(*parts)
    if relative.is_absolute() or ".." in relative.parts or "\0" in str(relative):
        raise Rejected(Reason.UNSAFE_PATH, f"{str(relative)!r} leads out of the corpus")
    return str(root / relative)


def open_metadata(path: Path, *, name: str, reader: str) -> Path:
    """The metadata file, if it is there.

    Raises:
        UserError: it is not; the message says what was looked for.
    """
    if not path.is_file():
        raise UserError(f"sources.{name}: the {reader} reader looked for {path}, which is not there; is root right?")
    return path


def bad_row(path: Path, *, name: str, line: int, error: Rejected) -> Rejection:
    """The rejection of a metadata row, which has no id of its own that could be trusted."""
    return Rejection(
        id=f"{name}/{path.name}:{line}",
        audio_path="",
        stage="corpus",
        reason=error.reason,
        message=f"{path} line {line}: {error.message}",
    )
