"""Checks the recordings of a dataset that stores no mels: training reads them, so they are part of its data.

Each recording is hashed, which takes as long as reading the corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from pipelines.storage.file_states import state_of
from preprocess.audio_file import recording_sha256
from shared.errors import cwd_hint

COLUMNS = ("audio_path", "audio_sha256", "utterance_id")
CHECK = "recording"


def check_recordings(table: pa.Table, *, report: Callable[[int, str, str, str | None], None]) -> None:
    """Compare each recording with its sha256 in the manifest; report (row, utterance id, message, expected)."""
    found: dict[str, tuple[str, str]] = {}  # several utterances may name one file
    columns = (table[name].to_pylist() for name in COLUMNS)
    for index, (path, expected, utterance_id) in enumerate(zip(*columns, strict=True)):
        if path not in found:
            found[path] = recording_sha256(path)
        digest, reason = found[path]
        if reason:
            report(index, utterance_id, f"its recording {path} cannot be read: {reason}{cwd_hint(path)}", None)
        elif digest != expected:
            report(index, utterance_id, f"its recording {path} has sha256 {digest}", expected)


def recordings_state(table: pa.Table) -> str:
    """Hash of size, modification time and inode of all recordings."""
    states = state_of(map(Path, table["audio_path"].to_pylist()))
    return hashlib.blake2b(states.encode(), digest_size=16).hexdigest()
