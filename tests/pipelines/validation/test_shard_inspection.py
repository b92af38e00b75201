"""Inspection of one shard: a damaged record is found at its index, and a valid shard has no findings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.validation.findings import Finding
from shared.tables import MANIFEST
from tests.pipelines import builds, damage

FLIPS = 100


def records_found(findings: list[Finding], *, stem: str) -> set[int]:
    """The record indices of findings, all of which must be about the shard's file."""
    assert {finding.file for finding in findings} == {f"shards/{stem}.tfrecord"}
    return {finding.index for finding in findings if finding.index is not None}


def test_valid_shards_have_no_findings(ljspeech: Path, sample: Path, small: Path, tmp_path: Path) -> None:
    for data in (ljspeech, sample, small):
        for stem in damage.stems(data):
            assert damage.inspect(data, stem=stem, progress=tmp_path) == []


@pytest.mark.slow
def test_each_of_a_hundred_flipped_bytes_is_found_in_its_record(ljspeech: Path, tmp_path: Path) -> None:
    data = builds.copied(ljspeech, to=tmp_path / "data")
    positions = [
        (stem, index, start, end)
        for stem in damage.stems(data)
        for index, (start, end) in enumerate(damage.spans(data, stem=stem))
    ]
    assert len(positions) == 32
    chance = random.Random(20)
    for _ in range(FLIPS):
        stem, index, start, end = chance.choice(positions)
        path, position, mask = (
            data / "shards" / f"{stem}.tfrecord",
            chance.randrange(start, end),
            chance.randrange(1, 256),
        )
        damage.flip(path, position=position, mask=mask)
        findings = damage.inspect(data, stem=stem, progress=tmp_path / "progress")
        assert records_found(findings, stem=stem) == {index}, f"byte {position} of {stem}, mask {mask}"
        assert {"sha256", "framing"} <= {finding.check for finding in findings}
        damage.flip(path, position=position, mask=mask)


@pytest.mark.parametrize("record", [0, 2, -1])
@pytest.mark.parametrize("byte", [*range(12), 12, -5, -4, -3, -2, -1])
def test_a_flip_in_the_framing_is_found_in_its_record(record: int, byte: int, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    spans = damage.spans(spoiled, stem=stem)
    index = record % len(spans)
    start, end = spans[index]
    position = start + byte if byte >= 0 else end + byte
    damage.flip(spoiled / "shards" / f"{stem}.tfrecord", position=position, mask=0x80)
    assert records_found(damage.inspect(spoiled, stem=stem, progress=tmp_path / "p"), stem=stem) == {index}


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_shard_is_found_from_its_first_lost_record_on(kept: float, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path, spans = spoiled / "shards" / f"{stem}.tfrecord", damage.spans(spoiled, stem=stem)
    size = int(path.stat().st_size * kept)
    path.write_bytes(path.read_bytes()[:size])
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    lost = {index for index, (_, end) in enumerate(spans) if end > size}
    assert records_found(findings, stem=stem) == lost
    assert "size" in {finding.check for finding in findings}


def test_bytes_behind_the_last_record_are_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    with (spoiled / "shards" / f"{stem}.tfrecord").open("ab") as file:
        file.write(b"\0" * 3)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert {"size", "sha256", "framing"} <= {finding.check for finding in findings}


NAN = np.full(80, np.nan, "<f2").tobytes()
LOUD = np.full(80, 40.0, "<f2").tobytes()
QUIET = np.full(80, -30.0, "<f2").tobytes()

INVALID_RECORDS = [
    ("finite", {"mel": [NAN], "frames": [1]}),
    ("range", {"mel": [LOUD], "frames": [1]}),
    ("range", {"mel": [QUIET], "frames": [1]}),
    ("shape", {"frames": [1]}),
    ("shape", {"frames": [0], "mel": [b""]}),
    ("shape", {"frames": [-1]}),
    ("schema", {"frames": []}),
    ("schema", {"frames": [3, 3]}),
    ("speaker", {"speaker": [5]}),
    ("language", {"language": [5]}),
    ("tokens", {"tokens": []}),
    ("tokens", {"tokens": [256047, 2]}),
    ("tokens", {"tokens": [256047, 17]}),
    ("tokens", {"tokens": [17, 17, 2]}),
    ("tokens", {"tokens": [256042, 17, 2]}),
    ("tokens", {"tokens": [256047, 17, 1, 2]}),
    ("tokens", {"tokens": [256047, 256047, 2]}),
    ("tokens", {"tokens": [256047, -1, 2]}),
    ("text", {"text": [b""]}),
    ("text", {"text": [b"\xff"]}),
    ("text", {"utterance_id": [b"\xff"]}),
    ("place", {"utterance_id": [b"another/C00001"]}),
    ("place", {"utterance_id": [b"ljspeech/another"]}),
    ("manifest", {"text": [b"Another text."]}),
    ("manifest", {"tokens": [256047, 17, 17, 17, 2]}),
]


@pytest.mark.parametrize(("check", "values"), INVALID_RECORDS, ids=lambda value: str(value)[:40])
def test_a_record_with_valid_checksums_and_a_wrong_value_is_found(
    check: str, values: dict, spoiled: Path, tmp_path: Path
) -> None:
    stem, index = damage.stems(spoiled)[0], 1
    payloads = damage.payloads(spoiled, stem=stem)
    payloads[index] = damage.edit_record(payloads[index], **values)
    damage.write_payloads(spoiled, stem=stem, payloads=payloads)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert (check, index) in {(finding.check, finding.index) for finding in findings}


@pytest.mark.parametrize("payload", [b"", b"no example", b"\n\xff\xff\xff\xff\xff\xff\xff\xff\x7f"])
def test_a_record_that_is_no_example_is_found(payload: bytes, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    payloads = damage.payloads(spoiled, stem=stem)
    damage.write_payloads(spoiled, stem=stem, payloads=[*payloads[:-1], payload])
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert len(payloads) - 1 in {finding.index for finding in findings if finding.check in ("example", "schema")}


def test_the_record_editor_of_these_tests_changes_nothing_else(small: Path) -> None:
    for payload in damage.payloads(small, stem=damage.stems(small)[0]):
        assert damage.edit_record(payload) == payload


def test_a_removed_record_is_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    payloads = damage.payloads(spoiled, stem=stem)
    damage.write_payloads(spoiled, stem=stem, payloads=payloads[:1] + payloads[2:])
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert [finding.index for finding in findings if finding.check == "absent"] == [1]
    assert {"records", "manifest"} <= {finding.check for finding in findings}


def test_a_repeated_record_is_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    payloads = damage.payloads(spoiled, stem=stem)
    damage.write_payloads(spoiled, stem=stem, payloads=[payloads[0], *payloads])
    found = {(finding.check, finding.index) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert ("order", 1) in found
    assert ("manifest", len(payloads)) in found


def test_two_swapped_records_are_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    first, second, *rest = damage.payloads(spoiled, stem=stem)
    damage.write_payloads(spoiled, stem=stem, payloads=[second, first, *rest])
    found = {(finding.check, finding.index) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert {("manifest", 0), ("order", 1)} <= found


EDITS = [
    ("utterance_id", "ljspeech/another"),
    ("split", "test"),
    ("shard", "another"),
    ("index", 7),
    ("offset_bytes", 1),
    ("length_bytes", 1),
    ("frames", 1),
    ("tokens", 1),
    ("unknown_tokens", 9),
    ("language", "deu_Latn"),
    ("speaker", "ljspeech/nobody"),
    ("text", "Another text."),
]


@pytest.mark.parametrize(("column", "value"), EDITS)
def test_an_edited_row_of_the_manifest_is_found(column: str, value: object, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = spoiled / "manifest" / f"{stem}.parquet"
    damage.edit_rows(path, change=lambda rows: rows[1].update({column: value}))
    found = {(finding.file, finding.check) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert (f"manifest/{stem}.parquet", "sha256") in found
    damage.sign(spoiled)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert ("manifest", 1) in {(finding.check, finding.index) for finding in findings}


def test_rows_that_are_missing_or_too_many_are_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = spoiled / "manifest" / f"{stem}.parquet"
    records = len(damage.payloads(spoiled, stem=stem))
    damage.edit_rows(path, change=lambda rows: rows.pop())
    damage.sign(spoiled)
    found = {(finding.check, finding.index) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert found == {("manifest", records - 1), ("rows", None)}
    damage.edit_rows(path, change=lambda rows: rows.extend({**rows[0], "utterance_id": f"ljspeech/{n}"} for n in "ab"))
    damage.sign(spoiled)
    checks = [finding.check for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")]
    assert checks.count("absent") == 2


def test_an_edited_table_of_rejections_is_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = spoiled / "rejected" / f"{stem}.parquet"
    row = dict.fromkeys(("utterance_id", "audio_path", "language", "stage", "reason", "message"), "x")
    damage.edit_rows(path, change=lambda rows: rows.append(row))
    found = {(finding.file, finding.check) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert found == {(f"rejected/{stem}.parquet", check) for check in ("sha256", "rows", "reason")}


@pytest.mark.parametrize("folder", ["shards", "manifest", "rejected", "withheld"])
def test_a_missing_file_is_found(folder: str, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = sorted((spoiled / folder).glob(f"{stem}.*"))[0]
    path.unlink()
    found = {(finding.file, finding.check) for finding in damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")}
    assert (f"{folder}/{path.name}", "missing") in found


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["manifest", "rejected"])
def test_flipped_bits_in_a_table_are_found_and_never_abort_the_inspection(
    folder: str, spoiled: Path, tmp_path: Path
) -> None:
    stem, chance = damage.stems(spoiled)[0], random.Random(4)
    path = spoiled / folder / f"{stem}.parquet"
    for position in chance.sample(range(path.stat().st_size), FLIPS):
        damage.flip(path, position=position, mask=0xFF)
        findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
        assert (f"{folder}/{path.name}", "sha256") in {(finding.file, finding.check) for finding in findings}
        damage.flip(path, position=position, mask=0xFF)


@pytest.mark.parametrize("offset", [-5, 1 << 62])
def test_invalid_offsets_do_not_abort_the_inspection(offset: int, spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    damage.edit_rows(
        spoiled / "manifest" / f"{stem}.parquet", change=lambda rows: rows[1].update({"offset_bytes": offset})
    )
    damage.flip(spoiled / "shards" / f"{stem}.tfrecord", position=0)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert ("framing", 0) in {(finding.check, finding.index) for finding in findings}


def test_a_small_table_of_very_many_rows_is_not_read(
    spoiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows compress to almost nothing in a file, but not in memory."""
    stem = damage.stems(spoiled)[0]
    path = spoiled / "manifest" / f"{stem}.parquet"
    row = pq.read_table(path).slice(0, 1).to_pylist()[0] | {"text": "x" * 500}
    table = pa.Table.from_pylist([row], schema=MANIFEST)
    pq.write_table(table.take(pa.array(np.zeros(20_000, np.int64))), path, compression="zstd")
    assert path.stat().st_size < 100_000
    damage.sign(spoiled)
    read = pq.ParquetFile.read

    def read_small(file: pq.ParquetFile, *words: Any, **options: Any) -> pa.Table:
        assert file.metadata.num_rows < 100
        return read(file, *words, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", read_small)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    (message,) = {one.message for one in findings if one.file == f"manifest/{stem}.parquet"}
    assert message.startswith("cannot be read: 20000 rows, ")
    assert message.endswith(" rows take; it was not read")


def test_a_manifest_without_one_of_its_columns_is_found(spoiled: Path, tmp_path: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = spoiled / "manifest" / f"{stem}.parquet"
    damage.drop_column(path, name="offset_bytes")
    damage.flip(spoiled / "shards" / f"{stem}.tfrecord", position=0)
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert f"manifest/{stem}.parquet" in {finding.file for finding in findings}
