"""Tables are read as pyarrow's own reader reads them, column by column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shared.tables import read_table

ROWS = pa.table({"name": ["b", "a"], "count": [1, 2], "share": [0.5, None]})
TYPES = pa.schema([("share", pa.float64()), ("name", pa.string())])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # a folder that pyarrow's reader of datasets would take for a column
    path = tmp_path / "name=c" / "rows.parquet"
    path.parent.mkdir()
    pq.write_table(ROWS, path)
    return path


@pytest.mark.parametrize("columns", [None, ["count"], ["share", "name"], []])
def test_columns_come_as_they_are_asked_for(path: Path, columns: list[str] | None) -> None:
    assert read_table(path, columns=columns).equals(pq.read_table(pa.BufferReader(path.read_bytes()), columns=columns))


def test_a_schema_names_the_columns_and_their_types(path: Path) -> None:
    assert read_table(path, schema=TYPES).equals(ROWS.select(["share", "name"]))
    assert read_table(path, schema=TYPES, columns=["name"]).schema == pa.schema([("name", pa.string())])


@pytest.mark.parametrize(
    "schema", [pa.schema([("name", pa.string()), ("speaker", pa.string())]), pa.schema([("name", pa.int64())])]
)
def test_a_table_that_lacks_a_column_or_has_another_type_is_damaged(path: Path, schema: pa.Schema) -> None:
    with pytest.raises(pa.ArrowInvalid):
        read_table(path, schema=schema)


def test_a_table_with_far_more_rows_than_stated_is_not_read(path: Path) -> None:
    pq.write_table(pa.table({"name": ["a"] * 5000}), path)
    with pytest.raises(pa.ArrowInvalid, match="far more than 2 rows take"):
        read_table(path, rows=2)
