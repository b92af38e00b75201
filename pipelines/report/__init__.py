"""`DATA/report.html`: a self-contained page that describes a dataset.

tables and dataset.json ─► totals, histograms, clips ─► assessment ─► template

The report uses no Beam. It reads whole columns and makes no Python object per row, so a million records take seconds.
"""

from __future__ import annotations

from pipelines.report.assessment import dataset_state
from pipelines.report.page import render
from preprocess.audio_file import read_audio_file
from preprocess.utterance import Rejected
from shared.dataset import Dataset
from shared.errors import UserError, cwd_hint
from shared.files import write_bytes
from shared.storage_path import StoragePath

# The head of the page states which dataset and validation it describes.
HEAD_BYTES = 1 << 12

TRIED_RECORDINGS = 3


def refresh_report(dataset: Dataset) -> StoragePath:
    """Write the page unless it is up to date with the dataset and its last validation; return its path.

    Raises:
        UserError: as `write_report`.
    """
    path = dataset.layout.report
    return path if f'content="{dataset_state(dataset)}"'.encode() in _head(path) else write_report(dataset)


def _head(path: StoragePath) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:  # the page is written again
        return b""


def missing_recordings(dataset: Dataset) -> str | None:
    """A line for the user if the first recordings cannot be read: the page will have no sounds; None if one can."""
    shard = next((one for one in dataset.info.shards if one.records), None)
    paths = [] if shard is None else dataset.manifest_of(shard, columns=["audio_path"])["audio_path"].to_pylist()
    reasons = []
    for path in paths[:TRIED_RECORDINGS]:
        try:
            read_audio_file(path)
        except Rejected as error:
            reasons.append(f"{error.message}{cwd_hint(path)}")
        else:
            return None
    return f"the page may have no sounds: {reasons[0]}" if reasons else None


def write_report(dataset: Dataset) -> StoragePath:
    """Write the page and return its path.

    Raises:
        UserError: a table of the dataset cannot be read, or the page cannot be written.
    """
    path = dataset.layout.report
    page = render(dataset)
    try:
        # a folder name may contain bytes that are not UTF-8
        write_bytes(path, page.encode("utf-8", "replace"), durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; make room or give write permission, then `make report`") from error
    return path
