"""`DATA/report.html`: a self-contained page that describes a dataset.

tables and dataset.json ─► totals, histograms, clips ─► assessment ─► template

The report uses no Beam. It reads whole columns and makes no Python object per row, so a million records take seconds.
"""

from __future__ import annotations

from pipelines.report.assessment import dataset_state
from pipelines.report.page import render
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_bytes
from shared.storage_path import StoragePath

# The head of the page states which dataset and validation it describes.
HEAD_BYTES = 1 << 12


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
