"""Columns of the metadata that a dataset keeps: each reader that has columns finds them, with their values."""

from __future__ import annotations

import decimal
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocess.corpora.table import Table
from preprocess.utterance import NO_CUSTOM, Reason, Rejection
from shared.errors import UserError
from tests.preprocess.test_manifests import cut, lines, nemo
from tests.preprocess.test_webdataset import tar

AUDIO = {"columns": {"audio": "path", "text": "text"}, "language": "en"}
WANTED = ["gender", "age"]
ROW = {"path": "a.wav", "text": "One.", "gender": "female", "age": 31}
COMMON_VOICE = "client_id\tpath\tsentence\tage\tgender\nabc\ta.mp3\tOne.\t31\tfemale\n"
SAID = {"text": "One.", "speaker": "a", "language": "en", "gender": "female", "age": 31}

Corpus = tuple[dict[str, str | bytes], dict[str, Any], dict[str, Any]]  # files, options, and the expected values

CORPORA: dict[str, Corpus] = {
    "csv": (
        {"m.csv": "path,text,gender,age\na.wav,One.,female,31\n"},
        {"reader": "table", "file": "m.csv", **AUDIO},
        {"gender": "female", "age": "31"},
    ),
    "without header": (
        {"m.tsv": "a.wav\tOne.\tfemale\n"},
        {"reader": "table", "file": "m.tsv", "header": False, "columns": {"audio": 1, "text": 2}, "language": "en"}
        | {"custom_columns": [3]},
        {"3": "female"},
    ),
    "json lines": (
        {"m.jsonl": f"{json.dumps(ROW)}\n"},
        {"reader": "table", "file": "m.jsonl", **AUDIO},
        {"gender": "female", "age": 31},
    ),
    "common_voice": (
        {"validated.tsv": COMMON_VOICE},
        {"reader": "common_voice", "language": "en"},
        {"gender": "female", "age": "31"},
    ),
    "nemo": (
        {"manifest.json": lines(nemo(gender="female", age=31, lang="en"))},
        {"reader": "nemo"},
        {"gender": "female", "age": 31},
    ),
    "emilia": (
        {"a.mp3": b"", "a.json": json.dumps(SAID)},
        {"reader": "emilia"},
        {"gender": "female", "age": 31},
    ),
    "webdataset": (
        {"a.tar": tar([("a.mp3", b"1"), ("a.json", SAID)])},
        {"reader": "webdataset"},
        {"gender": "female", "age": 31},
    ),
    "lhotse": (
        {"cuts.jsonl": lines(cut(supervisions__0__gender="female", custom={"age": 31, "other": [1]}))},
        {"reader": "lhotse", "file": "cuts.jsonl"},
        {"gender": "female", "age": 31},
    ),
}


@pytest.mark.parametrize("name", CORPORA)
def test_the_columns_that_were_asked_for_are_kept(name: str, write: Any, utterances: Any) -> None:
    files, options, expected = CORPORA[name]
    root = write(files)
    (plain,) = utterances(root, **{**options, "custom_columns": []})
    (one,) = utterances(root, **{"custom_columns": WANTED, **options})
    assert plain.custom == NO_CUSTOM
    assert json.loads(one.custom) == expected


@pytest.mark.parametrize("reader", ["table", "parquet"])
def test_columns_of_parquet_are_kept_with_their_types(reader: str, tmp_path: Path, utterances: Any) -> None:
    row = {"audio": b"1", "path": "a.wav", "text": "One.", "gender": "", "age": 31, "snr": 12.5, "is_read": True}
    row["mos"] = decimal.Decimal("3.5")
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "m.parquet")
    place = {"file": "m.parquet", **AUDIO} if reader == "table" else {"columns": {"text": "text"}, "language": "en"}
    wanted = ["gender", "age", "snr", "is_read", "mos"]
    (one,) = utterances(tmp_path, reader=reader, custom_columns=wanted, **place)
    assert json.loads(one.custom) == {"gender": None, "age": 31, "snr": 12.5, "is_read": True, "mos": 3.5}


def test_nan_is_null(write: Any, utterances: Any) -> None:
    root = write({"m.jsonl": json.dumps({**ROW, "mos": float("nan")})})
    (one,) = utterances(root, reader="table", file="m.jsonl", custom_columns=["mos"], **AUDIO)
    assert one.custom == '{"mos": null}'


def test_a_key_that_some_rows_lack_is_left_out_there(write: Any, utterances: Any) -> None:
    rows = [{**ROW, "path": f"{number}.wav", **more} for number, more in enumerate([{}, {"mood": None}, {"mood": 3}])]
    root = write({"m.jsonl": lines(*rows)})
    found = utterances(root, reader="table", file="m.jsonl", custom_columns=["mood"], **AUDIO)
    assert [one.custom for one in found] == ["{}", '{"mood": null}', '{"mood": 3}']


def test_the_supervision_of_lhotse_says_more_than_its_cut(write: Any, utterances: Any) -> None:
    row = cut(custom={"mood": "sad", "snr": 3}, supervisions__0__custom={"mood": "gay"}, supervisions__0__gender=None)
    root = write({"cuts.jsonl": lines(row)})
    (one,) = utterances(root, reader="lhotse", file="cuts.jsonl", custom_columns=["snr", "mood", "gender"])
    assert json.loads(one.custom) == {"mood": "gay", "snr": 3, "gender": None}


def test_a_cut_whose_custom_fields_are_of_another_kind_is_read(write: Any, utterances: Any) -> None:
    root = write({"cuts.jsonl": lines(cut(custom=[1], supervisions__0__custom="", supervisions__0__gender=1))})
    (one,) = utterances(root, reader="lhotse", file="cuts.jsonl")
    assert one.custom == NO_CUSTOM


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[1, 2]", "'mood' is a list, expected text, a number, true or false"),
        ('{"a": {}}', "'mood' is a dict, expected text, a number, true or false"),
        ("Infinity", "'mood' is inf, expected a finite number"),
        ("-1e999", "'mood' is -inf, expected a finite number"),
        (r'"\ud800"', "half of a surrogate pair in 'mood'"),
        (f'"{"x" * 5000}"', "its custom columns have 5012 characters, at most 4000"),
        ("9" * 5000, "not JSON: .*"),
    ],
    ids=["list", "object", "infinity", "infinite", "surrogate", "long text", "long number"],
)
def test_a_value_that_no_manifest_can_keep_rejects_its_row(value: str, message: str, write: Any, read: Any) -> None:
    root = write({"m.jsonl": f'{json.dumps(ROW)[:-1]}, "mood": {value}}}\n'})
    (found,) = read(root, reader="table", file="m.jsonl", custom_columns=["mood"], **AUDIO)
    assert isinstance(found, Rejection)
    assert found.reason == Reason.BAD_METADATA_ROW
    assert re.search(f"line 1: {message}; the row: ", found.message)


VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(cells=st.dictionaries(TEXTS, VALUES | TEXTS, max_size=5))
@settings(max_examples=60)
def test_every_value_comes_back(cells: dict[str, Any]) -> None:
    source = Table(reader="table", root=Path(), file="m.csv", custom_columns=tuple(cells), **AUDIO)
    assert json.loads(source.custom_json(cells)) == cells


@pytest.mark.parametrize("name", ["json lines", "nemo", "emilia", "webdataset", "lhotse"])
def test_a_misspelt_key_of_json_is_one_line(name: str, write: Any, read: Any) -> None:
    files, options, _ = CORPORA[name]
    with pytest.raises(UserError, match=r"^sources\.x\.custom_columns: no utterance of the corpus has gendre;"):
        read(write(files), **options, custom_columns=["gendre", "age"])


@pytest.mark.parametrize("name", ["csv", "common_voice"])
def test_a_misspelt_column_of_a_table_is_one_line(name: str, write: Any, read: Any) -> None:
    files, options, _ = CORPORA[name]
    with pytest.raises(UserError, match=r"no column gendre in its header; it has .*gender"):
        read(write(files), **options, custom_columns=["gendre"])


@pytest.mark.parametrize(
    ("names", "message"), [(["a", "a"], "'a' stands twice"), (["\ud800"], "half of a surrogate pair")]
)
def test_names_that_no_manifest_can_keep_are_refused(names: list[str], message: str, write: Any, read: Any) -> None:
    with pytest.raises(pydantic.ValidationError, match=message):
        read(write({}), reader="nemo", custom_columns=names)


def test_a_column_that_stands_twice_in_its_header_is_refused(write: Any, read: Any) -> None:
    root = write({"m.csv": "path,text,mood,mood\na.wav,One.,1,2\n"})
    with pytest.raises(UserError, match=r"m\.csv: 2 columns mood in its header; expected one"):
        read(root, reader="table", file="m.csv", custom_columns=["mood"], **AUDIO)


def test_a_column_that_stands_twice_in_parquet_is_refused(tmp_path: Path, read: Any) -> None:
    table = pa.Table.from_arrays([["a.wav"], ["One."], ["Two."]], names=["path", "text", "text"])
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(UserError, match=r"m\.parquet: 2 columns text; expected one"):
        read(tmp_path, reader="table", file="m.parquet", **AUDIO)


def test_dates_of_parquet_are_refused_before_a_row_is_read(tmp_path: Path, read: Any) -> None:
    table = pa.table({"path": ["a.wav"], "text": ["One."], "day": pa.array([2**31 - 1], pa.date32())})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(UserError, match=r"column day is date32\[day\]; expected text or numbers"):
        read(tmp_path, reader="table", file="m.parquet", custom_columns=["day"], **AUDIO)


def test_a_reader_without_further_columns_has_no_such_setting(write: Any, read: Any) -> None:
    with pytest.raises(pydantic.ValidationError, match="custom_columns"):
        read(write({"metadata.csv": "a|b|c\n"}), reader="ljspeech", language="en", custom_columns=["gender"])
