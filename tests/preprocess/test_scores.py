"""Utterances that a source takes by the scores in a table."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
import pytest

from preprocess.utterance import Reason, Utterance
from shared.errors import UserError

METADATA = "".join(f"{number}|raw|text\n" for number in range(5))
ROWS = [("x/0", 3.5), ("x/1", 3.2), ("x/2", 3.19), ("x/3", None), ("y/4", 5.0)]  # 4 is of another source


@pytest.fixture(params=["csv", "tsv", "jsonl", "parquet"])
def table(request: pytest.FixtureRequest, write: Any) -> Any:
    """The corpus' root, beside a table of ROWS in each format."""
    names = ["utterance_id", "utmos"]
    rows = [dict(zip(names, row, strict=True)) for row in ROWS]
    root = write({"metadata.csv": METADATA})
    path = root / f"scores.{request.param}"
    if request.param == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif request.param == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        separator = {"csv": ",", "tsv": "\t"}[request.param]
        lines = [names, *([name, "" if score is None else str(score)] for name, score in ROWS)]
        path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    return path


def test_utterances_within_the_bounds_are_taken_and_the_others_told_why_not(table: Any, read: Any) -> None:
    bounds = {"utmos": {"file": table, "min": 3.2}}
    found = read(table.parent, reader="ljspeech", language="en", scores=bounds)
    assert [one.id for one in found if isinstance(one, Utterance)] == ["x/0", "x/1"]
    refused = [one for one in found if not isinstance(one, Utterance)]
    assert {one.reason for one in refused} == {Reason.NOT_SELECTED}
    absent = f"no utmos in {table}"  # an empty cell, and no row
    assert {one.id: one.message for one in refused} == {
        "x/2": "utmos 3.19 is below 3.2",
        "x/3": absent,
        "x/4": absent,
    }


def test_a_misspelt_column_of_json_lines_is_one_line(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA, "s.jsonl": '{"utterance_id": "0", "utmos": 3}\n'})
    with pytest.raises(UserError, match=r"s\.jsonl, row 1: no 'utmoss'; expected a number, or nothing"):
        read(root, reader="ljspeech", language="en", scores={"utmoss": {"file": root / "s.jsonl", "min": 1}})


def test_a_score_of_half_the_precision_reaches_its_bound(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA})
    scores = pa.table({"utterance_id": list("01234"), "utmos": pa.array([3.1, 3.09, 0.3, 0.31, 3.1], pa.float32())})
    pq.write_table(scores, root / "s.parquet")
    for bound, taken in (({"min": 3.1}, "04"), ({"max": 0.3}, "2")):
        found = read(root, reader="ljspeech", language="en", scores={"utmos": {"file": root / "s.parquet", **bound}})
        assert [one.id for one in found if isinstance(one, Utterance)] == [f"x/{number}" for number in taken]


def test_ids_are_those_of_the_corpus_with_their_commas_and_spaces(write: Any, read: Any) -> None:
    rows = 'clip,t\n"a, b.wav",text\n" c .wav",text\nd.wav,text\n'
    root = write({"t.csv": rows, "s.csv": b'\xef\xbb\xbfutterance_id,utmos\r\n"a, b",4\r\n" c ",4\r\nx/d,4\r\n'})
    columns, bounds = {"audio": "clip", "text": "t"}, {"utmos": {"file": root / "s.csv", "min": 3}}
    found = read(root, reader="table", file="t.csv", columns=columns, language="en", scores=bounds)
    assert [one.id for one in found if isinstance(one, Utterance)] == ["x/a, b", "x/ c ", "x/d"]


def test_every_table_bounds_and_ids_need_no_source(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA, "a.csv": "id,wer\n0,0.1\n1,0.3\n2,1e9\n", "b.csv": "1,2\n0,7\n1,7\n2,7\n"})
    bounds = {
        "wer": {"file": root / "a.csv", "id": "id", "max": 0.3},
        "rating": {"file": root / "b.csv", "id": "1", "column": "2", "min": 7, "max": 7},
    }
    found = read(root, reader="ljspeech", language="en", scores=bounds, max_utterances=2)
    assert [one.id for one in found if isinstance(one, Utterance)] == ["x/0", "x/1"]
    assert {one.id: one.message for one in found if not isinstance(one, Utterance)}["x/2"] == "wer 1e+09 is above 0.3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("utterance_id,utmos\n0,high\n", r"scores\.csv, row 2: its utmos is 'high'; expected a number, or nothing"),
        ("utterance_id,utmos\n0,1_0\n", r"row 2: its utmos is '1_0'; expected a number, or nothing"),
        ("utterance_id,utmos\n0,1e999\n", r"row 2: its utmos is '1e999'; expected a number, or nothing"),
        ("utterance_id,utmos\ny/0,1\n", r"no utterance of the source x is in its column utterance_id; .* as x/4"),
        ("utterance_id,utmos\n0,1\n0,1\n", r"row 3: a second row of '0'; expected one row an utterance"),
        ("utterance_id,utmos\n0,1,2\n", r"row 2: 3 fields, but 2 columns"),
        ("id,utmos\n0,1\n", r"scores\.csv: no column utterance_id in its header; it has id, utmos"),
        (None, r"scores\.csv: cannot read the metadata \(No such file or directory\)"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_line(content: str | None, message: str, write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA} | ({} if content is None else {"scores.csv": content}))
    with pytest.raises(UserError, match=message):
        read(root, reader="ljspeech", language="en", scores={"utmos": {"file": root / "scores.csv", "min": 1}})


def test_bounds_that_take_nothing_are_refused(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA})
    bounds = {"utmos": {"file": root / "s.csv", "min": 2, "max": 1}}
    with pytest.raises(pydantic.ValidationError, match=r"min 2\.0 is larger than max 1\.0"):
        read(root, reader="ljspeech", language="en", scores=bounds)


def test_scores_are_kept_beside_the_custom_columns_and_without_bounds_all_are_taken(table: Any, read: Any) -> None:
    (table.parent / "t.jsonl").write_text("".join(f'{{"a": "{n}", "t": "x", "mood": "calm"}}\n' for n in range(5)))
    options = {"reader": "table", "file": "t.jsonl", "columns": {"audio": "a", "text": "t"}, "language": "en"}
    found = read(table.parent, **options, custom_columns=["mood"], scores={"utmos": {"file": table}})
    expected = {"x/0": 3.5, "x/1": 3.2, "x/2": 3.19, "x/3": None, "x/4": None}
    assert {one.id: json.loads(one.custom) for one in found} == {
        name: {"mood": "calm", "utmos": score} for name, score in expected.items()
    }
    bounded = read(table.parent, **options, scores={"utmos": {"file": table, "min": 3.2}})
    assert [json.loads(one.custom) for one in bounded[:2]] == [{"utmos": 3.5}, {"utmos": 3.2}]
    with pytest.raises(pydantic.ValidationError, match="'mood' is among scores and custom_columns; expected two names"):
        read(table.parent, **options, custom_columns=["mood"], scores={"mood": {"file": table}})


@pytest.mark.parametrize("name", ["", "m" * 101, "half \ud800"])
def test_names_of_scores_are_short_text(name: str, table: Any, read: Any) -> None:
    with pytest.raises(pydantic.ValidationError, match="expected a name of at most 100 characters"):
        read(table.parent, reader="ljspeech", language="en", scores={name: {"file": table}})
