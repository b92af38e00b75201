from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError

COLUMNS = {"id": "key", "audio": "path", "text": "words", "speaker": "who", "language": "tongue"}
TRICKY = ["plain", 'say "hi"', '"quoted"', "comma, and so on", "two\nlines", "", "ünï\u2028code", " blanks "]


def rows() -> list[dict[str, str]]:
    return [
        {"key": f"k{n}", "path": f"a/{n}.wav", "words": text, "who": f"s{n % 2}", "tongue": "deu_Latn", "more": "1"}
        for n, text in enumerate(TRICKY)
    ]


def as_csv() -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows()[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows())
    return file.getvalue().encode()


def as_json_lines() -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows()).encode()


def as_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows()), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("file", "content"), [("t.csv", as_csv()), ("t.jsonl", as_json_lines()), ("t.parquet", as_parquet())]
)
def test_a_row_is_the_same_in_every_format(file: str, content: bytes, write: Any, utterances: Any) -> None:
    root = write({file: content})
    assert utterances(root, reader="table", file=file, columns=COLUMNS) == [
        Utterance(
            id=f"x/{row['key']}",
            audio_path=str(root / row["path"]),
            text=row["words"],
            language="deu_Latn",
            speaker=f"x/{row['who']}",
        )
        for row in rows()
    ]


@pytest.mark.parametrize("suffix", ["flac", "mp3"])
def test_a_real_table_with_bars_and_a_header_is_read(suffix: str, reference: Path, utterances: Any) -> None:
    root = reference / "corpora/ljspeech_formats"
    columns = {"audio": "audio_file", "text": "transcription", "speaker": "speaker_name"}
    found = utterances(
        root, reader="table", file=f"metadata_{suffix}.csv", separator="|", columns=columns, language="eng_Latn"
    )
    lines = [line.split("|") for line in (root / f"metadata_{suffix}.csv").read_text("utf-8").splitlines()[1:]]
    assert [(one.id, one.text, one.speaker) for one in found] == [
        (f"x/{path.removesuffix(f'.{suffix}')}", text, f"x/{speaker}") for path, _, text, speaker in lines
    ]
    assert all(Path(one.audio_path).is_file() for one in found)


def test_quotes_are_text_where_the_separator_is_no_comma(write: Any, utterances: Any) -> None:
    root = write({"t.tsv": 'path\twords\na.wav\t"Ja", sagte er.\n', "q.tsv": 'path\twords\na.wav\t"Ja\t"" nein"\n'})
    options = {"reader": "table", "columns": {"audio": "path", "text": "words"}, "language": "deu_Latn"}
    assert [one.text for one in utterances(root, file="t.tsv", **options)] == ['"Ja", sagte er.']
    assert [one.text for one in utterances(root, file="q.tsv", quoted=True, **options)] == ['Ja\t" nein']


def test_columns_of_a_table_without_a_header_are_numbers(write: Any, utterances: Any) -> None:
    root = write({"lists/t.txt": "one;1\ntwo;2\n"})
    found = utterances(
        root,
        reader="table",
        file="lists/t.txt",
        separator=";",
        header=False,
        columns={"audio": 2, "text": 1},
        audio_root="clips",
        suffix=".opus",
        language="eng_Latn",
    )
    assert [(one.id, one.text, one.speaker) for one in found] == [("x/1", "one", "x/x"), ("x/2", "two", "x/x")]
    assert found[0].audio_path == str(root / "clips/1.opus")


@pytest.mark.parametrize(("file", "content"), [("t.csv", as_csv()), ("t.parquet", as_parquet())])
def test_a_missing_column_is_named_with_those_there_are(file: str, content: bytes, write: Any, read: Any) -> None:
    with pytest.raises(UserError, match=r"t\.\w+: no column sentence.*; it has key, path, words, who, tongue, more"):
        read(write({file: content}), reader="table", file=file, columns=COLUMNS | {"text": "sentence"})


def test_a_missing_key_of_json_is_named_row_by_row(write: Any, read: Any) -> None:
    good = {"path": "a.wav", "words": "one", "who": 7}
    root = write({"t.jsonl": "\n".join(map(json.dumps, [good, {"path": "b.wav"}, good | {"words": None}, good]))})
    columns = {"audio": "path", "text": "words", "speaker": "who"}
    first, absent, null, last = read(root, reader="table", file="t.jsonl", columns=columns, language="eng_Latn")
    assert (first.speaker, last.text) == ("x/7", "one")
    assert absent.message == f"{root}/t.jsonl line 2: no column 'words'; there are path; the row: 'path=b.wav'"
    assert null.message == f"{root}/t.jsonl line 3: 'words' is empty; the row: 'path=a.wav, who=7'"


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b"[1]", b'"text"', b"[" * 100_000, b"9" * 5000, b"\xff"),
        b'{"path": "a\\ud800.wav", "words": "x"}',
        b'{"path": "a.wav", "words": "half \\udc00"}',
        b'{"path": "a.wav", "words": [1]}',
        b'{"path": "../../x", "words": "x"}',
        b'{"path": "a\\u0000", "words": "x"}',
        b'{"path": "", "words": "x"}',
    ],
)
def test_a_hostile_line_of_json_is_rejected_and_the_next_is_read(line: bytes, write: Any, read: Any) -> None:
    root = write({"t.jsonl": line + b'\n{"path": "b.wav", "words": "two"}\n'})
    columns = {"audio": "path", "text": "words"}
    bad, good = read(root, reader="table", file="t.jsonl", columns=columns, language="eng_Latn")
    assert bad.reason in (Reason.BAD_METADATA_ROW, Reason.UNSAFE_PATH)
    assert good.text == "two"


def test_a_quote_that_does_not_end_names_the_lines_that_it_took(write: Any, read: Any) -> None:
    columns = {"audio": "path", "text": "words"}
    options = {"reader": "table", "file": "t.csv", "columns": columns, "language": "eng_Latn"}
    good, bad = read(write({"t.csv": 'path,words\na,one\nb,"two\nc,three\nd,four\n'}), **options)
    assert (good.text, bad.id) == ("one", "x/t.csv:3")
    assert "lines 3 to 5 are no record of CSV: unexpected end of data" in bad.message
    long = "".join(f"r{n},{'x' * 100}\n" for n in range(3000))
    bad, *others = read(write({"t.csv": f'path,words\nb,"two\n{long}'}), **options)
    assert "are no record of CSV: field larger than field limit" in bad.message
    assert len(others) > 1500
    assert all(isinstance(one, Utterance) for one in others)


def test_a_row_with_more_fields_than_columns_is_rejected(write: Any, read: Any) -> None:
    root = write({"t.csv": 'path,words\na,one, two\nb,three\nc\n"d"e,four\n'})
    found = read(root, reader="table", file="t.csv", columns={"audio": "path", "text": "words"}, language="eng_Latn")
    assert [one.message.partition(": ")[2] for one in found if isinstance(one, Rejection)] == [
        "3 fields, but 2 columns; the row: 'a,one, two'",
        "no column 'words'; there are path; the row: 'path=c'",
        "lines 5 to 5 are no record of CSV: ',' expected after '\"'; the row: '\"d\"e,four'",
    ]
    assert [one.text for one in found if isinstance(one, Utterance)] == ["three"]


def test_a_language_column_is_resolved_row_by_row(write: Any, read: Any) -> None:
    root = write({"t.csv": "path,words,tongue\na,one,nld_Latn\nb,two,tlh\nc,three,\n"})
    columns = {"audio": "path", "text": "words", "language": "tongue"}
    found = read(root, reader="table", file="t.csv", columns=columns)
    assert [one.language for one in found] == ["nld_Latn", "", ""]
    assert [one.reason for one in found[1:]] == [Reason.UNKNOWN_LANGUAGE] * 2


def test_a_damaged_parquet_file_is_refused_and_a_bad_cell_rejected(write: Any, read: Any) -> None:
    options = {"reader": "table", "file": "t.parquet", "columns": {"audio": "p", "text": "t"}, "language": "eng_Latn"}
    with pytest.raises(UserError, match=r"t\.parquet: damaged, or no Parquet file"):
        read(write({"t.parquet": b"PAR1 and no more PAR1"}), **options)
    raw = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xffb")]
    )
    root = write({})
    pq.write_table(pa.table({"p": ["a.wav", "b.wav"], "t": raw}), root / "t.parquet")
    bad, good = read(root, **options)
    assert (bad.id, good.text) == ("x/t.parquet:1", "b")
    assert "not UTF-8: " in bad.message
    pq.write_table(pa.table({"p": [{"bytes": b""}], "t": ["text"]}), root / "t.parquet")
    with pytest.raises(UserError, match=r"column p is struct<.*>; expected text"):
        read(root, **options)


TIMES = [
    {"audio": "a.flac", "text": "one", "start": 1.5, "end": 3, "duration": "1.5"},
    {"audio": "b.mp3", "text": "two"},
]


@pytest.mark.parametrize("last", ["end", "duration"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_rows_with_times_are_parts_of_their_recordings(kind: str, last: str, write: Any, read: Any) -> None:
    rows = [{key: row.get(key, "") for key in TIMES[0]} for row in TIMES]
    if kind == "jsonl":
        content = "".join(f"{json.dumps(row)}\n" for row in rows)
    else:
        content = "".join(",".join(map(str, row)) + "\n" for row in (list(rows[0]), *(row.values() for row in rows)))
    root = write({f"t.{kind}": content})
    columns = {"audio": "audio", "text": "text", "start": "start", last: last}
    good, bad = read(root, reader="table", file=f"t.{kind}", columns=columns, language="eng_Latn")
    assert (good.id, good.audio_path) == ("x/a-0001500-0003000", f"{root}/a.flac#t=1.5,3")
    assert bad.reason == Reason.BAD_METADATA_ROW
    assert "its 'start' is '', expected seconds; the row: 'audio=" in bad.message


@pytest.mark.parametrize("columns", [{"start": "s"}, {"end": "e"}, {"start": "s", "end": "e", "duration": "d"}])
def test_times_that_do_not_tell_a_part_are_refused(columns: dict[str, str], write: Any, read: Any) -> None:
    with pytest.raises(ValueError, match="parts of recordings need start and end, or start and duration"):
        read(write({}), reader="table", file="t.csv", columns={"audio": "a", "text": "t", **columns}, language="en")
