"""`DATA/report.html`: what a dataset holds, on one page that needs nothing beside it.

tables and dataset.json ─► facts, histograms, clips ─► one template     every number says which column it comes from

No Beam: whole columns at a time, and never a Python object per row, so a million records are a matter of seconds.
"""

from __future__ import annotations

from pipelines.report.page import render
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_bytes
from shared.place import Place


def write_report(dataset: Dataset) -> Place:
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
