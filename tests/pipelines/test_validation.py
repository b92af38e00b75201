"""Validation of whole datasets: what stands between shards, and what dataset.json claims."""

from __future__ import annotations

import copy
import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.findings import Finding
from pipelines.validate import validate_dataset
from shared.errors import UserError
from tests.pipelines import builds, damage


def findings(data: Path) -> list[Finding]:
    return validate_dataset(data).findings


def found(data: Path) -> set[tuple[str, str]]:
    return {(finding.file, finding.check) for finding in findings(data)}


def test_a_sound_dataset_is_clean_and_exit_code_0(ljspeech: Path, tmp_path: Path, command: Callable) -> None:
    data = builds.copied(ljspeech, to=tmp_path / "data")
    outcome = command("validate", "--data", str(data))
    assert outcome.code == 0
    assert "clean: 2 shards, 32 records" in outcome.out
    (report,) = (data / "validation").iterdir()
    assert json.loads(report.read_text())["findings"] == []
    assert builds.content(data) == builds.content(ljspeech)


def test_the_sample_is_clean_and_only_a_report_is_left_behind(sample: Path, tmp_path: Path) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    assert findings(data) == []
    assert builds.content(data) == builds.content(sample)
    assert [path.suffix for path in (data / "validation").iterdir()] == [".json"]


def test_two_worker_processes_find_the_same_as_one(spoiled: Path) -> None:
    chance = random.Random(1)
    for stem in damage.stems(spoiled):
        path = spoiled / "shards" / f"{stem}.tfrecord"
        damage.flip(path, position=chance.randrange(path.stat().st_size))
    alone = validate_dataset(spoiled, workers=1)
    assert alone.findings == validate_dataset(spoiled, workers=2).findings


@pytest.mark.parametrize("seed", range(2))
def test_the_command_names_file_and_record_of_a_flipped_byte(seed: int, spoiled: Path) -> None:
    chance = random.Random(seed)
    stem = chance.choice(damage.stems(spoiled))
    index, (start, end) = chance.choice(list(enumerate(damage.spans(spoiled, stem=stem))))
    damage.flip(spoiled / "shards" / f"{stem}.tfrecord", position=chance.randrange(start, end))
    words = [builds.COMMAND, "validate", "--data", spoiled]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert f"shards/{stem}.tfrecord record {index} (ljspeech/" in ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_deleted_shard_is_found(spoiled: Path) -> None:
    stem = damage.stems(spoiled)[-1]
    (spoiled / "shards" / f"{stem}.tfrecord").unlink()
    assert (f"shards/{stem}.tfrecord", "missing") in found(spoiled)


def test_a_deleted_folder_of_shards_is_found(spoiled: Path) -> None:
    stems = damage.stems(spoiled)
    shutil.rmtree(spoiled / "shards")
    assert {(f"shards/{stem}.tfrecord", "missing") for stem in stems} <= found(spoiled)


def test_two_shards_that_changed_names_are_found(spoiled: Path) -> None:
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
    assert found(spoiled) == {(f"shards/{validation}.tfrecord", "leak")}


@pytest.mark.parametrize("folder", ["shards", "manifest", "rejected", "withheld"])
def test_a_stray_file_is_found(folder: str, spoiled: Path) -> None:
    (spoiled / folder / "note.txt").write_text("mine")
    assert found(spoiled) == {(f"{folder}/note.txt", "stray")}


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if index in (0, 79):  # of the bands the first and the last, of the shards the first
                yield from _leaves(inner, (*path, index))
    else:
        yield path


def _altered(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return ("1" if value[0] == "0" else "0") + value[1:]
    return value + 1


@pytest.mark.slow
def test_no_value_of_dataset_json_can_be_edited_unseen(spoiled: Path) -> None:
    info = json.loads((spoiled / "dataset.json").read_text())
    unseen = []
    for path in _leaves(info):
        edited = copy.deepcopy(info)
        section = edited
        for key in path[:-1]:
            section = section[key]
        section[path[-1]] = _altered(section[path[-1]])
        (spoiled / "dataset.json").write_text(json.dumps(edited))
        try:
            if not findings(spoiled):
                unseen.append(path)
        except UserError as error:
            assert "dataset.json" in str(error)  # noqa: PT017 - either of two outcomes will do
    checks = [("selection", "checks", name) for name in info["selection"]["checks"]]
    assert [path for path in unseen if path not in checks] == [
        ("contract", "tokenizer", "location"),
        ("sources", "ljspeech", "reader"),
        ("sources", "ljspeech", "weight"),
        ("sources", "ljspeech", "shards", 0, "inputs"),  # a build will find it
    ]


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
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    if outcome.code == 2:
        assert "dataset.json" in outcome.err


@pytest.mark.parametrize("name", ["renamed", "../manifest/x"])
def test_a_shard_whose_name_is_none_is_told(name: str, spoiled: Path, command: Callable) -> None:
    stem = damage.stems(spoiled)[0]
    (spoiled / "shards" / f"{stem}.tfrecord").rename(spoiled / "shards" / f"{name}.tfrecord")
    damage.edit_info(spoiled, change=lambda info: info["sources"]["ljspeech"]["shards"][0].update(name=name))
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 2
    assert "dataset.json" in outcome.err


def test_flips_in_dataset_json_never_end_validation_with_a_traceback(spoiled: Path) -> None:
    path, chance = spoiled / "dataset.json", random.Random(8)
    for _ in range(20):
        position = chance.randrange(path.stat().st_size)
        damage.flip(path, position=position, mask=chance.choice([1, 2, 4, 8, 16]))
        try:
            findings(spoiled)
        except UserError as error:
            assert "dataset.json" in str(error)  # noqa: PT017 - either of two outcomes will do


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "[[1]]", '[[1, "<pad>"]]', "no json", '[[1, "<pad>"], [2, "</s>"], [3, "<unk>"]]'],
)
def test_an_edited_vocabulary_is_found(content: str, spoiled: Path) -> None:
    (spoiled / "vocab.json").write_text(content)
    assert found(spoiled) == {("vocab.json", "vocabulary")}


def test_a_vocabulary_with_an_infinite_id_is_found(spoiled: Path) -> None:
    (spoiled / "vocab.json").write_text('[[1e400, "x"]]')
    assert found(spoiled) == {("vocab.json", "vocabulary")}


def test_a_vocabulary_with_another_piece_is_found(spoiled: Path) -> None:
    path = spoiled / "vocab.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"a"', '"á"', 1), encoding="utf-8")
    assert found(spoiled) == {("vocab.json", "vocabulary")}


@pytest.mark.parametrize("name", ["vocab.json", "dataset.json"])
def test_a_missing_file_of_the_whole_is_found(name: str, spoiled: Path, command: Callable) -> None:
    (spoiled / name).unlink()
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code in (1, 2)
    assert name in outcome.out + outcome.err


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda info: info["contract"].update(schema_version=1), "schema version 1, wanted 3"),
        (lambda info: info["contract"].update(mel_dtype="float32"), "fingerprint is not that of its contract"),
        (lambda info: info.update(fingerprint="0" * 32), "fingerprint is not that of its contract"),
        (lambda info: info.pop("speakers"), "speakers"),
    ],
)
def test_another_contract_is_refused_in_one_line(
    edit: Callable, message: str, spoiled: Path, command: Callable
) -> None:
    damage.edit_info(spoiled, change=edit)
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


def test_a_report_that_cannot_be_written_is_said_in_one_line(spoiled: Path, command: Callable) -> None:
    (spoiled / "validation").write_text("a file in its place")
    outcome = command("validate", "--data", str(spoiled))
    assert outcome.code == 2
    assert "validation writes its report there" in outcome.err
    assert outcome.err.count("\n") == 1
