"""The whole comparison as a JSON file, written a few thousand utterances at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.compare import Comparison
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.drift import QUANTILES, Drift
from shared.errors import UserError
from shared.files import new_file

ROWS_AT_A_TIME = 4096


def write_document(comparison: Comparison, *, path: Path) -> None:
    """Write the file.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        with new_file(path, durable=False) as file:
            for text in _texts(comparison):
                file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; expected a file that can be written; change --out") from error


def _texts(comparison: Comparison) -> Iterator[str]:
    head = json.dumps(summary(comparison), indent=1, ensure_ascii=False)
    yield head.removesuffix("\n}")
    yield ',\n "changes": {'
    for number, kind in enumerate(CHANGE_KINDS):
        yield ("," if number else "") + f'\n  "{kind.name}": ['
        yield from _rows(comparison.changes[kind.name])
        yield "]"
    yield "\n }\n}\n"


def _rows(table: pa.Table) -> Iterator[str]:
    separator = "\n   "
    for batch in table.to_batches(max_chunksize=ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            yield separator + json.dumps(row, ensure_ascii=False)
            separator = ",\n   "


def summary(comparison: Comparison) -> dict[str, Any]:
    """Everything except the lists of utterances."""
    return {
        **{
            name: {"data": str(side.layout.root), "fingerprint": side.info.fingerprint}
            for name, side in (("a", comparison.a), ("b", comparison.b))
        },
        "equal": comparison.are_equal,
        "shards_that_differ": {"a": comparison.shards[0], "b": comparison.shards[1]},
        "settings": [one._asdict() for one in comparison.settings],
        "names": [one._asdict() for one in comparison.names if one.differ],
        "counts": {kind.name: len(comparison.changes[kind.name]) for kind in CHANGE_KINDS},
        "drift": [_drift(one) for one in comparison.drifts],
    }


def _drift(drift: Drift) -> dict[str, Any]:
    return {
        "source": drift.source,
        "language": drift.language,
        "measure": drift.measure.column,
        "unit": drift.measure.unit,
        "records_a": drift.records[0],
        "records_b": drift.records[1],
        "ks_statistic": drift.statistic,
        "p_value": drift.p_value,
        "quantiles": list(QUANTILES),
        "quantiles_a": drift.quantiles[0],
        "quantiles_b": drift.quantiles[1],
        "shared": drift.shared._asdict() if drift.shared else None,
        "significant": drift.is_significant,
    }
