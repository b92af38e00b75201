"""Parquet files with recordings in them: each is found by its row, and what is none is rejected."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from preprocess.audio_file import read_audio_file
from preprocess.corpora import parquet_rows
from preprocess.utterance import Reason, Rejected, Rejection
from shared.errors import UserError

OPTIONS = {"reader": "parquet", "columns": {"text": "text"}, "language": "en"}


def recording(number: int, *, path: str | None = "", data: bytes | None = b"") -> dict[str, Any]:
    return {
        "bytes": f"{number}".encode() * number if data == b"" else data,
        "path": f"clips/LJ-{number:04}.wav" if path == "" else path,
    }


def save(path: Path, rows: list[dict[str, Any]], **how: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=how.pop("schema", None)), path, **how)


def rows(count: int) -> list[dict[str, Any]]:
    return [{"n": None, "audio": recording(one), "text": f"Text {one}."} for one in range(1, count + 1)]


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
@pytest.mark.parametrize("row_group_size", [1, 3, 100])
def test_each_recording_is_that_of_its_row(
    row_group_size: int, compression: str, tmp_path: Path, utterances: Any
) -> None:
    how = {"row_group_size": row_group_size, "compression": compression, "data_page_size": 100}
    save(tmp_path / "data/train-0.parquet", rows(20), **how)
    save(tmp_path / "data/train-1.parquet", rows(25)[20:], **how)
    found = utterances(tmp_path, **OPTIONS)
    assert [one.id for one in found] == [f"x/LJ-{number:04}" for number in range(1, 26)]
    assert [read_audio_file(one.audio_path) for one in found] == [f"{n}".encode() * n for n in range(1, 26)]
    assert [one.text for one in found] == [f"Text {n}." for n in range(1, 26)]
    assert found[-1].audio_path == f"{tmp_path}/data/train-1.parquet#cell=5,2"


def test_files_columns_and_ids_are_chosen(tmp_path: Path, utterances: Any) -> None:
    row = {"sound": b"abc", "sentence": "Ja.", "who": 7, "code": "a/1", "lang": "de"}
    save(tmp_path / "data/train-0.parquet", [row])
    save(tmp_path / "data/test-0.parquet", [{**row, "sentence": "no"}])
    columns = {"audio": "sound", "text": "sentence", "id": "code", "speaker": "who", "language": "lang"}
    (one,) = utterances(tmp_path, reader="parquet", files="data/train-*.parquet", columns=columns)
    assert (one.id, one.text, one.speaker, one.language) == ("x/a/1", "Ja.", "x/7", "deu_Latn")
    assert read_audio_file(one.audio_path) == b"abc"


def test_a_recording_without_a_name_has_that_of_its_file_and_row(tmp_path: Path, utterances: Any) -> None:
    unnamed = [{"audio": recording(n, path=None), "text": "."} for n in (1, 2)]
    save(tmp_path / "de/a.parquet", [*unnamed, {"audio": recording(3, path="/home/me/c.mp3"), "text": "."}])
    save(tmp_path / "de/b.parquet", [{"audio": {"bytes": b"4"}, "text": "."}])  # no field `path`
    found = utterances(tmp_path, **OPTIONS)
    assert [one.id for one in found] == ["x/de/a/0000001", "x/de/a/0000002", "x/c", "x/de/b/0000001"]
    assert [read_audio_file(one.audio_path) for one in found] == [b"1", b"22", b"333", b"4"]


@pytest.mark.slow
def test_a_text_that_unpacks_to_gigabytes_takes_the_memory_of_one(tmp_path: Path, read: Any) -> None:
    count, text = 3000, "kettle " * 300_000  # 2 MB each, and together 6 GB, in a file of less
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    recordings = pa.array([{"bytes": b"abc", "path": f"{number}.wav"} for number in range(count)])
    table = pa.table({"n": range(count), "audio": recordings, "text": texts})
    pq.write_table(
        table, tmp_path / "bomb.parquet", dictionary_pagesize_limit=1 << 30, compression="zstd", store_schema=False
    )
    assert (tmp_path / "bomb.parquet").stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = read(tmp_path, **OPTIONS)
    assert {one.reason for one in found} == {Reason.TEXT_TOO_LONG}
    assert len(found) == count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def test_a_row_group_that_would_take_unbounded_memory_is_told(
    tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "a.parquet", [{"n": None, "audio": recording(1), "text": "x" * 5000}])
    monkeypatch.setattr(parquet_rows, "MAX_COLUMN_BYTES", 4000)
    with pytest.raises(
        UserError, match="column text takes 0 MiB in a row group, expected at most 0; write it with small"
    ):
        read(tmp_path, **OPTIONS)


def test_a_row_without_bytes_is_rejected_when_it_is_read(tmp_path: Path, utterances: Any) -> None:
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    schema = pa.schema({"audio": kind, "text": pa.string()})
    absent = [{"audio": recording(1, data=None), "text": "."}, {"audio": None, "text": "."}]
    save(tmp_path / "a.parquet", absent, schema=schema)
    for one in utterances(tmp_path, **OPTIONS):
        with pytest.raises(Rejected, match="holds no recording") as rejected:
            read_audio_file(one.audio_path)
        assert rejected.value.reason == Reason.MISSING_AUDIO


def test_a_row_without_text_or_with_a_bad_name_is_rejected(tmp_path: Path, read: Any) -> None:
    bad = [{"audio": recording(1), "text": None}, {"audio": recording(2, path="\x07.wav"), "text": "."}, *rows(1)]
    save(tmp_path / "a.parquet", [{"audio": one["audio"], "text": one["text"]} for one in bad])
    first, second, good = read(tmp_path, **OPTIONS)
    assert isinstance(first, Rejection)
    assert (first.id, first.reason) == ("x/a.parquet:1", Reason.BAD_METADATA_ROW)
    assert isinstance(second, Rejection)
    assert second.reason == Reason.UNSAFE_PATH
    assert good.id == "x/LJ-0001"


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        ({"audio": b"", "words": "."}, {"text": "text"}, "a.parquet: no column text; it has audio, words"),
        ({"text": "."}, {"text": "text"}, "no column audio; it has text"),
        ({"audio": "a.wav", "text": "."}, {"text": "text"}, "audio is string; expected the bytes .* is `table`"),
        ({"audio": {"path": "a.wav"}, "text": "."}, {"text": "text"}, "audio is struct<path: string>; expected"),
        ({"audio": {"bytes": [1]}, "text": "."}, {"text": "text"}, "audio is struct<bytes: list"),
        ({"audio": b"", "text": ["."]}, {"text": "text"}, "text is list"),
        ({"audio": b"", "text": "."}, {"text": "audio"}, "audio is binary; expected text"),
    ],
)
def test_columns_of_another_kind_are_told(
    row: dict[str, Any], columns: dict[str, str], message: str, tmp_path: Path, read: Any
) -> None:
    save(tmp_path / "a.parquet", [row])
    with pytest.raises(UserError, match=message):
        read(tmp_path, reader="parquet", columns=columns, language="en")


def test_no_parquet_and_no_file_are_told(tmp_path: Path, read: Any) -> None:
    with pytest.raises(UserError, match=r"looked for .*\*.parquet, which is not there"):
        read(tmp_path, **OPTIONS)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(UserError, match=r"a\.parquet: damaged, or no Parquet file"):
        read(tmp_path, **OPTIONS)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("21,2", "no row 21: there are 20"),
        ("1,4", "no column 4: there are 3"),
        ("1,3", "column 'text' is string, expected bytes"),
    ],
)
def test_a_cell_that_is_not_there_is_rejected(cell: str, message: str, tmp_path: Path) -> None:
    save(tmp_path / "a.parquet", rows(20), row_group_size=7)
    with pytest.raises(Rejected, match=message):
        read_audio_file(f"{tmp_path}/a.parquet#cell={cell}")


def test_every_cut_and_damage_gives_the_bytes_or_a_rejection(tmp_path: Path) -> None:
    save(tmp_path / "whole.parquet", rows(9), row_group_size=4, compression="zstd")
    whole = (tmp_path / "whole.parquet").read_bytes()
    damaged = tmp_path / "damaged.parquet"
    ended = [0, 0]
    for place in range(0, len(whole), 7):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            damaged.write_bytes(data)
            try:
                assert isinstance(read_audio_file(f"{damaged}#cell=6,2"), bytes)
                ended[0] += 1
            except Rejected:
                ended[1] += 1
    assert min(ended) > 50


def test_the_disk_is_at_fault_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    save(tmp_path / "a.parquet", rows(20))

    class Failing(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("preprocess.audio_file.io.FileIO", Failing)
    monkeypatch.setattr("preprocess.audio_file.PAUSES_S", ())
    with pytest.raises(OSError, match="Input/output error"):
        read_audio_file(f"{tmp_path}/a.parquet#cell=1,2")
