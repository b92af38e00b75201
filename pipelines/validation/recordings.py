"""The recordings of a dataset that stores no mels: training reads them, so they are its data as much as the shards.

Each is hashed as a shard is, which takes as long as reading the corpus does.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from pipelines.validation.clean_cache import state_of
from shared.errors import cwd_hint
from shared.files import file_sha256

COLUMNS = ("audio_path", "audio_sha256", "utterance_id")
CHECK = "recording"


def check_recordings(table: pa.Table, *, tell: Callable[[int, str, str, str | None], None]) -> None:
    """Hold each recording of a manifest against its sum; `tell` of (row, utterance, what is wrong, expected)."""
    found: dict[str, tuple[str, str]] = {}  # several utterances may name one file
    columns = (table[name].to_pylist() for name in COLUMNS)
    for index, (path, expected, utterance_id) in enumerate(zip(*columns, strict=True)):
        if path not in found:
            found[path] = recording_sha256(path)
        digest, reason = found[path]
        if reason:
            tell(index, utterance_id, f"its recording {path} cannot be read: {reason}{cwd_hint(path)}", None)
        elif digest != expected:
            tell(index, utterance_id, f"its recording {path} has sha256 {digest}", expected)


def recording_sha256(path: str) -> tuple[str, str]:
    """The sum of a file, or else why there is none."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # a device or a pipe might never end
            return "", "no regular file"
        return file_sha256(Path(path)), ""
    except (OSError, ValueError) as error:  # ValueError: a path that can be no file's
        return "", getattr(error, "strerror", None) or str(error)


def recordings_state(table: pa.Table) -> str:
    """Size, time and inode of all, in one hash; different whenever one was replaced, written to or is absent."""
    states = state_of(map(Path, table["audio_path"].to_pylist()))
    return hashlib.blake2b(states.encode(), digest_size=16).hexdigest()
