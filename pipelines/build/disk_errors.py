"""Errors of the disk during a build, translated into one line for the user."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from shared.errors import UserError
from shared.layout import Layout
from shared.storage_path import StoragePath

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def translate_disk_errors(*, staging: StoragePath) -> Iterator[None]:
    """Raise an OSError of the body as a UserError.

    Args:
        staging: the staging folder of the build, DATA/.staging/<build>.
    """
    try:
        yield
    except OSError as error:
        raise UserError(_message(error, staging=staging)) from error


def _message(error: OSError, *, staging: StoragePath) -> str:
    where, why = _where_and_why(error, staging=staging)
    data = Layout(staging.parent.parent)
    if _is_publishing(data):
        full = error.errno in _DISK_FULL
        what = f"{data.root}: the disk is full" if full else f"{where}: {why}"
        message = "the new dataset is published, but not all of its files have their names yet"
        return f"{what}; {message}; {'make room' if full else 'fix the disk'}, and the next build finishes"
    if error.errno in _DISK_FULL:
        return f"{data.root}: the disk is full; nothing was published; make room and run the build again"
    return f"{where}: {why}; nothing was published; fix this and run the build again"


def _where_and_why(error: OSError, *, staging: StoragePath) -> tuple[object, object]:
    """The file and the reason; pyarrow's errors have a text alone, which is the path if the file is absent."""
    if error.errno is None and isinstance(error, FileNotFoundError):
        return error, os.strerror(errno.ENOENT)
    return error.filename or staging, error.strerror or error


def _is_publishing(data: Layout) -> bool:
    """Whether the journal is written: from then on the new dataset is the published one."""
    try:
        return data.journal.is_file()
    except OSError:
        return False
