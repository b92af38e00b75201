"""A file of texts to be spoken one by one: plain lines, or a table with a header; needs no TensorFlow.

Good morning.                    id,text,language,voice
How are you?                     greeting,Good morning.,en,Anna
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError
from shared.messages import first_few
from trainer.config.speech_bounds import MAX_CHARACTERS

MAX_LINES = 1_000_000
TABLES = {".csv": ",", ".tsv": "\t"}
MAX_NAMED = 5  # ids that one line names
COLUMNS = ("id", "text", "language", "voice")
USABLE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # becomes the name of a file


class Line(NamedTuple):
    """A text, with a name that no other one of its file has."""

    id: str
    text: str
    language: str | None = None
    voice: str | None = None


def read_lines(path: Path, *, log: Callable[[str], object] = warnings.warn) -> list[Line]:
    """Read a file of texts; lines without text are left out, and a text without an id gets its line's number.

    Args:
        log: receives a line if rows of a table are left out.

    Raises:
        UserError: the file cannot be read, is not UTF-8, has no text, an unknown column, or an unusable or repeated id.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(_rows(file, path=path))
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}: {error.reason})") from error
    except (OSError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
    lines = [line for line in rows if line.text]
    if not lines:
        raise UserError(f"{path}: no text in it")
    _check_ids(lines, path=path)
    empty = [line.id for line in rows if not line.text]
    if empty and path.suffix.lower() in TABLES:
        log(f"{path}: no text for {first_few(empty, most=MAX_NAMED)}")
    return lines


def _rows(file: Iterator[str], *, path: Path) -> Iterator[Line]:
    delimiter = TABLES.get(path.suffix.lower())
    if delimiter is None:
        yield from (Line(f"{number:06d}", _text(text, path, number)) for number, text in enumerate(file, 1))
        return
    table = csv.DictReader(file, delimiter=delimiter, strict=True)
    columns = table.fieldnames or []
    if "text" not in columns or set(columns) - set(COLUMNS):
        raise UserError(
            f"{path}: columns {', '.join(columns) or 'none'}; expected text, and any of id, language, voice"
        )
    for number, row in enumerate(table, 1):
        if None in row or None in row.values():
            raise UserError(f"{path}: row {number} has not as many cells as the header")
        text = _text(row["text"], path, number)
        yield Line(row.get("id") or f"{number:06d}", text, row.get("language") or None, row.get("voice") or None)


def _text(text: str, path: Path, number: int) -> str:
    if number > MAX_LINES:
        raise UserError(f"{path}: more than {MAX_LINES:,} texts; divide it")
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"{path}: text {number} has {len(text):,} characters, expected at most {MAX_CHARACTERS:,}")
    return text.strip()


def _check_ids(lines: list[Line], *, path: Path) -> None:
    seen: set[str] = set()
    for line in lines:
        if not USABLE_ID.fullmatch(line.id):
            raise UserError(f"{path}: id {line.id!r} cannot name a file; expected letters, digits, dots, - and _")
        if line.id.lower() in seen:
            raise UserError(f"{path}: id {line.id} stands there twice (also in other case)")
        seen.add(line.id.lower())
