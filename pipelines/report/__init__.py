"""`DATA/report.html`: what a dataset holds, on one page that needs nothing beside it.

tables and dataset.json ─► facts, histograms, clips ─► one template     every number says which column it comes from

No Beam: whole columns at a time, and never a Python object per row, so a million records are a matter of seconds.
"""

from __future__ import annotations

from pipelines.report.assessment import dataset_state
from pipelines.report.page import render
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_bytes
from shared.storage_path import StoragePath

# Of a page, which says in its head what it is of.
HEAD_BYTES = 1 << 12


def refresh_report(dataset: Dataset) -> StoragePath:
    """Write the page unless the one there is of this very dataset, and tells of its last validation; where it is.

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
    except OSError:  # then it cannot be told
        return b""


def write_report(dataset: Dataset) -> StoragePath:
    """Write the page; where it is.

    Raises:
        UserError: a table of the dataset cannot be read, or the page cannot be written.
    """
    path = dataset.layout.report
    page = render(dataset)
    try:
        # the name of a folder may hold bytes that are no text
        write_bytes(path, page.encode("utf-8", "replace"), durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; make room or give write permission, then `make report`") from error
    return path
