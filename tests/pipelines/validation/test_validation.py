"""Validation of whole datasets: cross-shard checks, and what dataset.json states."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.build.provenance import made_here
from pipelines.validation.dataset_files import check_dataset_files
from pipelines.validation.findings import Finding
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import Layout
from tests.pipelines import builds, damage, faults


def findings(data: Path) -> list[Finding]:
    return validate_dataset(data).findings


def found(data: Path) -> set[tuple[str, str]]:
    return {(finding.file, finding.check) for finding in findings(data)}


def test_a_valid_dataset_is_clean_and_the_exit_code_0(ljspeech: Path, tmp_path: Path, command: Callable) -> None:
    data = builds.copied(ljspeech, to=tmp_path / "data")
    outcome = command("validate", "--data", str(data))
    assert outcome.code == 0
    assert "clean: 2 shards, 32 records" in outcome.out
    (report,) = (data / "validation").glob("*.json")
    assert json.loads(report.read_text())["findings"] == []
    assert builds.content(data) == builds.content(ljspeech)


def test_the_sample_is_clean_and_only_a_report_is_left_behind(sample: Path, tmp_path: Path) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    assert findings(data) == []
    assert builds.content(data) == builds.content(sample)
    assert sorted(path.suffix for path in (data / "validation").iterdir()) == [".json", ".jsonl"]


@pytest.mark.slow
def test_a_speaker_without_kept_records_is_no_finding(tmp_path: Path) -> None:
    """dataset.json lists only speakers of kept records."""
    data = builds.build(tmp_path / "data", overrides=["sources.german.max_hours=0.001"])
    dataset = Dataset.open(data)
    names = [dataset.layout.withheld_manifest(shard.name) for shard in dataset.info.shards]
    withheld = {name for path in names for name in pq.read_table(path)["speaker"].to_pylist()}
    assert withheld - set(dataset.info.speakers)
    assert findings(data) == []


@pytest.mark.slow
def test_two_worker_processes_find_the_same_as_one(spoiled: Path) -> None:
    chance = random.Random(1)
    for stem in damage.stems(spoiled):
        path = spoiled / "shards" / f"{stem}.tfrecord"
        damage.flip(path, position=chance.randrange(path.stat().st_size))
    alone = validate_dataset(spoiled, workers=1)
    assert alone.findings == validate_dataset(spoiled, workers=2).findings


@pytest.mark.parametrize("seed", range(2))
def test_the_command_names_file_and_record_of_a_flipped_byte(seed: int, spoiled: Path, command: Callable) -> None:
    chance = random.Random(seed)
    stem = chance.choice(damage.stems(spoiled))
    index, (start, end) = chance.choice(list(enumerate(damage.spans(spoiled, stem=stem))))
    damage.flip(spoiled / "shards" / f"{stem}.tfrecord", position=chance.randrange(start, end))
    outcome = command("validate", "--data", spoiled)
    assert outcome.code == 1
    (line,) = (line for line in outcome.out.splitlines() if " framing: " in line)
    file, record, utterance, *_ = line.split()
    assert (file, record, utterance[:9]) == (f"shards/{stem}.tfrecord", str(index), "ljspeech/")
    assert f"fix: make repair DATA={spoiled}" in outcome.out
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_a_deleted_shard_is_found(spoiled: Path) -> None:
    stem = damage.stems(spoiled)[-1]
    (spoiled / "shards" / f"{stem}.tfrecord").unlink()
    assert (f"shards/{stem}.tfrecord", "missing") in found(spoiled)


def test_a_deleted_folder_of_shards_is_found(spoiled: Path) -> None:
    stems = damage.stems(spoiled)
    shutil.rmtree(spoiled / "shards")
    assert {(f"shards/{stem}.tfrecord", "missing") for stem in stems} <= found(spoiled)


def test_two_swapped_shards_are_found(spoiled: Path) -> None:
    first, second = (spoiled / "shards" / f"{stem}.tfrecord" for stem in damage.stems(spoiled)[:2])
    first.rename(spoiled / "aside")
    second.rename(first)
    (spoiled / "aside").rename(second)
    names = {f"shards/{path.name}" for path in (first, second)}
    for check in ("sha256", "place"):
        assert names == {finding.file for finding in findings(spoiled) if finding.check == check}


def test_a_record_of_another_shard_is_found_there_and_as_a_duplicate(spoiled: Path) -> None:
    first, second = damage.stems(spoiled)[:2]
    stranger = damage.payloads(spoiled, stem=first)[0]
    records = damage.payloads(spoiled, stem=second)
    damage.write_payloads(spoiled, stem=second, payloads=[*records, stranger])
    assert {(f"shards/{second}.tfrecord", "place"), (f"shards/{second}.tfrecord", "duplicate")} <= found(spoiled)


def test_one_recording_in_both_splits_is_found(spoiled: Path) -> None:
    train, validation = (
        next(stem for stem in damage.stems(spoiled) if f"-{split}-" in stem) for split in ("train", "validation")
    )
    digest: list[str] = []
    damage.edit_rows(
        spoiled / "manifest" / f"{train}.parquet", change=lambda rows: digest.append(rows[0]["audio_sha256"])
    )
    damage.edit_rows(
        spoiled / "manifest" / f"{validation}.parquet", change=lambda rows: rows[0].update(audio_sha256=digest[0])
    )
    damage.sign(spoiled)
    assert found(spoiled) == {(f"shards/{train}.tfrecord", "leak")}


def test_a_wrong_text_leaks_column_is_found(spoiled: Path) -> None:
    stem = damage.stems(spoiled)[0]
    path = spoiled / "manifest" / f"{stem}.parquet"
    damage.edit_rows(path, change=lambda rows: rows[1].update(text_leaks=not rows[1]["text_leaks"]))
    damage.sign(spoiled)
    (finding,) = findings(spoiled)
    assert (finding.file, finding.check, finding.index) == (f"manifest/{stem}.parquet", "text_leaks", 1)
    assert finding.message.endswith(", but text_leaks states the opposite")


def test_the_table_stays_short_for_any_number_of_findings(spoiled: Path, command: Callable) -> None:
    for stem in damage.stems(spoiled):
        path = spoiled / "manifest" / f"{stem}.parquet"
        damage.edit_rows(path, change=lambda rows: [row.update(frames=1, snr_db=-100.0) for row in rows])
    damage.sign(spoiled)
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert len(lines) < 20
    assert any(line.split()[1:6] == ["0,", "1,", "2", "…", "4"] for line in lines)


@pytest.mark.parametrize("folder", ["shards", "manifest", "rejected", "withheld"])
def test_an_unlisted_file_is_found(folder: str, spoiled: Path) -> None:
    (spoiled / folder / "note.txt").write_text("mine")
    assert found(spoiled) == {(f"{folder}/note.txt", "stray")}


@pytest.mark.parametrize("lines", ["one malformed", "one lost", "none"])
def test_no_shard_is_called_unlisted_if_no_list_is_complete(lines: str, spoiled: Path) -> None:
    """Otherwise a user might remove a valid shard."""
    (spoiled / "dataset.json").write_text("{")
    path, line = spoiled / "_SUCCESS", f"shards/{damage.stems(spoiled)[0]}.tfrecord\n"
    sums = path.read_text().splitlines(keepends=True)
    changed = {
        "one malformed": [one[1:] if one.endswith(line) else one for one in sums],
        "one lost": [one for one in sums if not one.endswith(line)],
        "none": [],
    }[lines]
    path.write_text("".join(changed))
    reported = findings(spoiled)
    assert "dataset.json" in {one.file for one in reported}
    assert "stray" not in {one.check for one in reported}
    assert {one.fix for one in reported} == {f"make repair DATA={spoiled}"}


def test_an_unlisted_file_is_found_if_only_success_is_complete_and_repair_removes_it(spoiled: Path) -> None:
    (spoiled / "dataset.json").write_text("{")
    (spoiled / "shards/note.txt").write_text("mine")
    reported = findings(spoiled)
    assert {(one.file, one.check) for one in reported} >= {("shards/note.txt", "stray")}
    assert {one.fix for one in reported} == {f"make repair DATA={spoiled}"}


# The records do not depend on these values; only the sums in _SUCCESS reveal a change.
ONLY_IN_SUMS = [
    ("contract", "tokenizer", "location"),
    ("sources", "ljspeech", "reader"),
    ("sources", "ljspeech", "weight"),
    ("sources", "ljspeech", "shards", 0, "inputs"),
    *(("made_by", name, 0) for name in made_here()),
]


def _places(info: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """Keys of dataset.json: first and last band, first shard; no thresholds, which all records may pass."""
    all_of_them = faults.leaves(info)
    few = [place for place in all_of_them if all(key in (0, 79) for key in place if isinstance(key, int))]
    return [place for place in few if place[:2] != ("selection", "checks")]


@pytest.mark.slow
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_values_of_dataset_json_are_compared_with_the_records_even_if_the_sums_match(every: int, spoiled: Path) -> None:
    original = (spoiled / "dataset.json").read_bytes()
    unseen, places = [], _places(json.loads(original))[::every]
    for place in places:
        (spoiled / "dataset.json").write_bytes(original)
        damage.edit_info(spoiled, change=lambda info, place=place: faults.edit(info, place))
        damage.seal(spoiled)
        try:
            if not findings(spoiled):
                unseen.append(place)
        except UserError as error:
            assert "dataset.json" in str(error)  # noqa: PT017 - either of two outcomes will do
    assert unseen == [place for place in ONLY_IN_SUMS if place in places]


def test_every_edited_value_of_dataset_json_is_blamed_on_dataset_json(spoiled: Path) -> None:
    original = (spoiled / "dataset.json").read_bytes()
    for place in faults.leaves(json.loads(original)):
        (spoiled / "dataset.json").write_bytes(original)
        damage.edit_info(spoiled, change=lambda info, place=place: faults.edit(info, place))
        assert {one.file for one in check_dataset_files(Layout(spoiled)).findings} == {"dataset.json"}, place


def test_a_damaged_sum_is_blamed_on_success(spoiled: Path) -> None:
    path = spoiled / "_SUCCESS"
    original = path.read_text()
    for position in range(0, len(original), 7):
        path.write_text(original[:position] + ("0" if original[position] != "0" else "1") + original[position + 1 :])
        assert {one.file for one in check_dataset_files(Layout(spoiled)).findings} == {"_SUCCESS"}, position


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(faults.KINDS)), ids=[kind.__name__ for kind in faults.KINDS])
def test_a_fault_of_each_kind_is_found_in_its_files_and_nowhere_else(number: int, spoiled: Path) -> None:
    chance = random.Random(number)
    while (fault := faults.KINDS[number](spoiled, chance)) is None:  # the chosen file cannot be damaged in this way
        pass
    assert {finding.file for finding in findings(spoiled)} == fault.files, fault


@pytest.mark.slow
@pytest.mark.soak
def test_three_hundred_random_faults_are_found_in_their_files_and_nowhere_else(small: Path, tmp_path: Path) -> None:
    for seed in range(300):
        data = builds.copied(small, to=tmp_path / str(seed))
        fault = faults.spoil(data, seed=seed)
        assert {finding.file for finding in findings(data)} == fault.files, f"seed {seed}: {fault}"
        shutil.rmtree(data)


def _remove_speaker(info: dict[str, Any]) -> None:
    info["speakers"].clear()


def _add_speaker(info: dict[str, Any]) -> None:
    info["speakers"]["ljspeech/nobody"] = {"id": 5, "records": 1}


def _remove_language(info: dict[str, Any]) -> None:
    info["languages"].clear()


def _shorten_mean(info: dict[str, Any]) -> None:
    info["mel"]["mean"].pop()


def _blank_mean(info: dict[str, Any]) -> None:
    info["mel"]["mean"].clear()


def _nan_std(info: dict[str, Any]) -> None:
    info["mel"]["std"][3] = float("nan")


def _forget_shard(info: dict[str, Any]) -> None:
    info["sources"]["ljspeech"]["shards"].pop()


def _forget_all_shards(info: dict[str, Any]) -> None:
    info["sources"]["ljspeech"]["shards"].clear()


def _forget_sources(info: dict[str, Any]) -> None:
    info["sources"].clear()


def _list_twice(info: dict[str, Any]) -> None:
    shards = info["sources"]["ljspeech"]["shards"]
    shards.append(shards[0])


def _lead_out(info: dict[str, Any]) -> None:
    info["sources"]["ljspeech"]["shards"][0]["name"] = "../../elsewhere"


@pytest.mark.parametrize(
    "change",
    [
        _remove_speaker,
        _add_speaker,
        _remove_language,
        _shorten_mean,
        _blank_mean,
        _nan_std,
        _forget_shard,
        _forget_all_shards,
        _forget_sources,
        _list_twice,
        _lead_out,
    ],
)
def test_a_dataset_json_of_another_shape_is_found(change: Callable, spoiled: Path, command: Callable) -> None:
    damage.edit_info(spoiled, change=change)
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert "dataset.json" in outcome.out


@pytest.mark.parametrize("name", ["renamed", "../manifest/x"])
def test_an_invalid_shard_name_is_found(name: str, spoiled: Path) -> None:
    stem = damage.stems(spoiled)[0]
    (spoiled / "shards" / f"{stem}.tfrecord").rename(spoiled / "shards" / f"{name}.tfrecord")
    damage.edit_info(spoiled, change=lambda info: info["sources"]["ljspeech"]["shards"][0].update(name=name))
    assert {("dataset.json", "unreadable"), (f"shards/{stem}.tfrecord", "missing")} <= found(spoiled)


@pytest.mark.slow
@pytest.mark.parametrize("flips", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_flipped_bits_in_dataset_json_never_end_validation_with_a_traceback(flips: int, spoiled: Path) -> None:
    path, chance = spoiled / "dataset.json", random.Random(8)
    for _ in range(flips):
        position = chance.randrange(path.stat().st_size)
        mask = chance.choice([1, 2, 4, 8, 16])
        damage.flip(path, position=position, mask=mask)
        assert {finding.file for finding in findings(spoiled)} == {"dataset.json"}
        damage.flip(path, position=position, mask=mask)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "[[1]]", '[[1, "<pad>"]]', "no json", '[[1, "<pad>"], [2, "</s>"], [3, "<unk>"]]'],
)
def test_an_edited_vocabulary_is_found(content: str, spoiled: Path) -> None:
    (spoiled / "vocab.json").write_text(content)
    assert ("vocab.json", "sha256") in found(spoiled)


def test_a_vocabulary_with_an_infinite_id_is_found(spoiled: Path) -> None:
    (spoiled / "vocab.json").write_text('[[1e400, "x"]]')
    assert ("vocab.json", "sha256") in found(spoiled)


def test_a_vocabulary_with_another_piece_is_found(spoiled: Path) -> None:
    path = spoiled / "vocab.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"a"', '"á"', 1), encoding="utf-8")
    assert ("vocab.json", "sha256") in found(spoiled)


@pytest.mark.parametrize("name", ["vocab.json", "dataset.json", "config.yaml", "_SUCCESS"])
def test_a_missing_dataset_wide_file_is_found(name: str, spoiled: Path) -> None:
    (spoiled / name).unlink()
    assert found(spoiled) == {(name, "missing")}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda info: info["contract"].update(schema_version=1), "schema version 1; expected 3"),
        (lambda info: info["contract"].update(mel_dtype="float32"), "the fingerprint does not match the contract"),
        (lambda info: info.update(fingerprint="0" * 32), "the fingerprint does not match the contract"),
        (lambda info: info.pop("speakers"), "speakers"),
    ],
)
def test_another_contract_is_refused_in_one_line(
    edit: Callable, message: str, spoiled: Path, command: Callable
) -> None:
    damage.edit_info(spoiled, change=edit)
    damage.seal(spoiled)
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_folder_without_a_dataset_is_refused_in_one_line(tmp_path: Path, command: Callable) -> None:
    for data, message in ((tmp_path, "no dataset here"), (tmp_path / "none", "no such directory")):
        outcome = command("validate", "--data", str(data))
        assert outcome.code == 2
        assert message in outcome.err
        assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_publication_is_completed_first(spoiled: Path, command: Callable) -> None:
    staged = f".staging/{'0' * 32}/_SUCCESS"
    (spoiled / staged).parent.mkdir(parents=True)
    (spoiled / "_SUCCESS").rename(spoiled / staged)
    (spoiled / ".publication.json").write_text(json.dumps({"removals": [], "moves": [[staged, "_SUCCESS"]]}))
    (spoiled / ".lock").touch()
    outcome = command("validate", "--data", spoiled)
    assert outcome.code == 0, outcome.err
    assert (spoiled / "_SUCCESS").is_file()


def test_a_report_that_cannot_be_written_is_an_error_of_one_line(spoiled: Path, command: Callable) -> None:
    shutil.rmtree(spoiled / "validation", ignore_errors=True)  # of a test that validated the original
    (spoiled / "validation").write_text("a file in its place")
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 2
    assert "validation writes its report there" in outcome.err
    assert outcome.err.count("\n") == 1
