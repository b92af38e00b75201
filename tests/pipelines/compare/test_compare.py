"""What compare finds, against a brute force over both datasets with TensorFlow's own reader."""

from __future__ import annotations

import collections
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.compare import compare_datasets
from pipelines.compare.changes import CHANGE_KINDS
from pipelines.compare.settings import SettingDifference
from pipelines.compare.terminal import comparison_summary
from pipelines.tables import record_diff as records
from shared.dataset import Dataset
from shared.locks import write_lock
from tests.pipelines import builds
from tests.pipelines.compare.compare_files import HOSTILE, ids_of, rows_of
from tests.pipelines.html_pages import Page, check_isolation


def parsed(data: Path) -> dict[str, dict[str, Any]]:
    """Every record, kept or filtered, by TensorFlow."""
    import tensorflow as tf

    found = {}
    for path in [*(data / "shards").iterdir(), *(data / "withheld").glob("*.tfrecord")]:
        for record in tf.data.TFRecordDataset(str(path)):
            feature = tf.train.Example.FromString(record.numpy()).features.feature
            found[feature["utterance_id"].bytes_list.value[0].decode()] = {
                "bytes": record.numpy(),
                "tokens": list(feature["tokens"].int64_list.value),
                "mel": np.frombuffer(feature["mel"].bytes_list.value[0], "<f2").reshape(-1, 80).astype(np.float64),
            }
    return found


def test_every_change_of_an_utterance_is_found_and_no_other(pair: tuple[Path, Path], document: dict[str, Any]) -> None:
    before, after = map(rows_of, pair)
    both = before.keys() & after.keys()

    def differing(*columns: str) -> set[str]:
        return {name for name in both if any(before[name][column] != after[name][column] for column in columns)}

    assert ids_of(document, "removed") == before.keys() - after.keys() == {"ljspeech/C00005"}
    assert ids_of(document, "added") == after.keys() - before.keys() == {"ljspeech/C00099"}
    assert ids_of(document, "text") == differing("text", "original_text") == {"ljspeech/C00003"}
    assert ids_of(document, "audio") == differing("audio_sha256") == {"ljspeech/C00002"}
    assert ids_of(document, "moved") == differing("shard")
    assert ids_of(document, "status") == differing("status", "reason")
    assert len(ids_of(document, "status")) > 3
    assert ids_of(document, "damaged") == ids_of(document, "speaker") == ids_of(document, "path") == set()
    measured = {(name, row["column"]) for row in document["changes"]["measures"] for name in [row["utterance_id"]]}
    columns = {column for _, column in measured}
    assert measured == {(name, column) for column in columns for name in differing(column)}
    assert ("ljspeech/C00002", "rms_db") in measured


def test_records_are_compared_as_tensorflow_reads_them(pair: tuple[Path, Path], document: dict[str, Any]) -> None:
    before, after = map(parsed, pair)
    both = before.keys() & after.keys()
    assert ids_of(document, "record") == {name for name in both if before[name]["bytes"] != after[name]["bytes"]}
    assert ids_of(document, "tokens") == {name for name in both if before[name]["tokens"] != after[name]["tokens"]}
    (mel,) = document["changes"]["mel"]
    assert mel["utterance_id"] == "ljspeech/C00002"
    distance = np.abs(before["ljspeech/C00002"]["mel"] - after["ljspeech/C00002"]["mel"])
    assert mel["max_abs"] == pytest.approx(distance.max())
    assert mel["mean_abs"] == pytest.approx(distance.mean())
    (tokens,) = document["changes"]["tokens"]
    old, new = (side["ljspeech/C00003"]["tokens"] for side in (before, after))
    assert (tokens["tokens_a"], tokens["tokens_b"]) == (len(old), len(new))
    first = tokens["first_difference"]
    assert old[:first] == new[:first]
    assert old[first] != new[first]


def test_a_changed_status_names_both_sides(document: dict[str, Any]) -> None:
    for row in document["changes"]["status"]:
        assert (row["status_a"], row["reason_a"]) == ("kept", "")
        assert (row["status_b"], row["reason_b"]) == ("filtered", "too_short")
        assert "min_duration_s" in row["message_b"]


def test_settings_and_names_that_differ_are_listed(pair: tuple[Path, Path], document: dict[str, Any]) -> None:
    config = [one for one in document["settings"] if one["field"].startswith(("config.", "contract."))]
    assert config == [{"field": "config.checks.min_duration_s", "a": "0.4", "b": "1.9"}]
    names = {one["kind"]: one for one in document["names"]}
    old, new = (
        {f"{number} {piece}" for number, piece in json.loads((data / "vocab.json").read_text())} for data in pair
    )
    assert (set(names["vocabulary"]["removed"]), set(names["vocabulary"]["added"])) == (old - new, new - old)
    assert new - old
    assert names["speakers"]["changed"][0][0] == "ljspeech/LJ"


def test_copies_are_equal_and_nothing_of_them_is_read(
    small: Path, spoiled: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("pipelines.tables.load.load_table", refuse)
    monkeypatch.setattr("pipelines.compare.drift.load_columns", refuse)
    monkeypatch.setattr("pipelines.tables.record_diff.read_record", refuse)
    outcome = command("compare", small, spoiled)
    assert outcome.code == 0
    assert "equal" in outcome.out
    assert outcome.out.count("\n") == 1


@pytest.mark.slow
def test_records_in_shards_that_are_the_same_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clip is quieter in B: its shard is another, the others are the same."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=16)
    words = builds.overrides_for(corpus, "utterances_per_shard=4")
    a = Dataset.open(builds.build(tmp_path / "a", config=builds.LJSPEECH_CONFIG, overrides=words))
    clip = corpus / "wavs" / "C00002.wav"
    samples, rate_hz = soundfile.read(clip)
    clip.unlink()  # a link
    soundfile.write(clip, 0.7 * samples, rate_hz, subtype="PCM_16")
    b = Dataset.open(builds.build(tmp_path / "b", config=builds.LJSPEECH_CONFIG, overrides=words))
    read: collections.Counter[str] = collections.Counter()
    original = records.RecordReader.payload

    def counted(self: records.RecordReader, row: int) -> bytes:
        read[str(self.path(row))] += 1
        return original(self, row)

    monkeypatch.setattr(records.RecordReader, "payload", counted)
    compare_datasets(a, b)
    same = {one.sha256 for one in a.info.shards if one.records} & {one.sha256 for one in b.info.shards}
    untouched = {str(side.layout.shard(one.name)) for side in (a, b) for one in side.info.shards if one.sha256 in same}
    assert len(untouched) >= 4
    assert read
    assert not untouched & read.keys()


@pytest.mark.slow
def test_more_shards_move_utterances_and_change_none(small: Path, tmp_path: Path) -> None:
    corpus = small.parent / "corpus"
    words = builds.overrides_for(corpus, "utterances_per_shard=3", "validation_fraction=0.3")
    other = builds.build(tmp_path / "other", config=builds.LJSPEECH_CONFIG, overrides=words)
    comparison = compare_datasets(Dataset.open(small), Dataset.open(other))
    before, after = rows_of(small), rows_of(other)
    moved = {name for name in before if before[name]["shard"] != after[name]["shard"]}
    counts = {kind.name: len(comparison.changes[kind.name]) for kind in CHANGE_KINDS}
    assert {name: count for name, count in counts.items() if count} == {"moved": len(moved)}
    assert not comparison.significant


def test_a_damaged_record_is_reported_with_its_dataset_and_file(pair: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = pair
    spoiled = builds.copied(b, to=tmp_path / "spoiled")
    changed = compare_datasets(Dataset.open(a), Dataset.open(b)).changes["record"]["utterance_id"][0].as_py()
    row = rows_of(b)[changed]
    folder = {"kept": "shards", "filtered": "withheld"}[row["status"]]
    path = spoiled / folder / f"{row['shard']}.tfrecord"
    data = bytearray(path.read_bytes())
    data[row["offset_bytes"] + 40] ^= 1
    path.write_bytes(data)
    (found,) = compare_datasets(Dataset.open(a), Dataset.open(spoiled)).changes["damaged"].to_pylist()
    assert (found["utterance_id"], found["dataset"], found["file"]) == (changed, "B", str(path))
    assert "checksum" in found["message"]


@pytest.mark.slow
def test_differences_exit_with_1_and_say_what_they_are(
    pair: tuple[Path, Path], tmp_path: Path, command: Callable
) -> None:
    page = tmp_path / "out.html"
    outcome = command("compare", *pair, "--out", page)
    assert outcome.code == 1
    assert "config.checks.min_duration_s: 0.4 → 1.9" in outcome.out
    assert "ljspeech/C00099" in outcome.out
    assert str(page) in outcome.out
    lines = outcome.out.splitlines()
    assert lines[-1].startswith("The datasets differ: exit code 1 (0: equal, 1: different, ")
    left_out = 0
    for number, line in enumerate(lines):
        counted, shown = re.match(r" *(\d+) [a-z]", line), lines[number + 1 : number + 5]
        examples = list(itertools.takewhile(lambda one: one.startswith(" " * 11), shown))
        if counted and examples:
            more = re.search(r"… and (\d+) more$", examples[-1])
            others = int(more[1]) - 1 if more else 0
            assert len(examples) + others == int(counted[1])
            left_out += others
    assert left_out > 0
    check_isolation(Page(page))
    assert HOSTILE in Page(page).text
    text = page.read_text("utf-8")
    kinds = dict(re.findall(r'data-kind="(\w+)">\s*<summary.*?<span class="n">([\d,]+)</span>', text))
    assert kinds["added"] == kinds["removed"] == kinds["mel"] == "1"


def test_the_fields_of_the_contract_that_differ_come_first(pair: tuple[Path, Path]) -> None:
    comparison = compare_datasets(*map(Dataset.open, pair))
    assert "same contract: the two can be trained on together" in comparison_summary(comparison)
    trimmed = SettingDifference("contract.processing.trim_db", "null", "30.0")
    lines = comparison_summary(comparison._replace(settings=[*comparison.settings, trimmed])).splitlines()
    assert lines[2] == "contracts differ in processing.trim_db: the two cannot be trained on together"
    assert lines[3] == "  contract.processing.trim_db: null → 30.0"


@pytest.mark.parametrize("side", [0, 1])
def test_a_dataset_that_is_being_written_is_refused(side: int, small: Path, spoiled: Path, command: Callable) -> None:
    places = [small, small]
    places[side] = spoiled
    with write_lock(spoiled, command="build"):
        outcome = command("compare", *places)
    assert outcome.code == 2
    assert "is writing here" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none/such"], "none/such: no such directory"),
        (["{small}", "--out", "x.txt"], "expected a name that ends in .html or .json"),
        (["{small}", "--out", "none/such/x.json"], "none/such/x.json: No such file"),
    ],
)
def test_misuse_is_one_line(words: list[str], message: str, small: Path, command: Callable) -> None:
    outcome = command("compare", small, *(word.format(small=small) for word in words))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.slow
def test_a_gain_and_a_trim_of_recordings_are_seen_and_nothing_else(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=64)
    words = builds.overrides_for(corpus, "checks.min_snr_db=null")
    before = builds.build(tmp_path / "before", config=builds.LJSPEECH_CONFIG, overrides=words)
    trim = builds.build(tmp_path / "trim", config=builds.LJSPEECH_CONFIG, overrides=[*words, "processing.trim_db=30"])
    for path in (corpus / "wavs").iterdir():
        samples, rate_hz = soundfile.read(path)
        path.unlink()  # a link
        soundfile.write(path, samples / np.sqrt(2), rate_hz, subtype="PCM_16")
    quiet = builds.build(tmp_path / "quiet", config=builds.LJSPEECH_CONFIG, overrides=words)

    def drifted(after: Path) -> dict[str, float]:
        found = compare_datasets(Dataset.open(before), Dataset.open(after)).significant
        return {drift.measure.column: drift.shift for drift in found}

    assert drifted(quiet) == {"rms_db": pytest.approx(-3.01, abs=0.05)}
    trimmed = drifted(trim)
    assert (
        {"duration_s", "characters_per_second"} <= trimmed.keys() <= {"duration_s", "characters_per_second", "snr_db"}
    )
    assert trimmed["duration_s"] < 0
