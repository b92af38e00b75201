"""A dataset with a test split: what the build writes, what validation, report and descriptions say of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.layout import SPLITS, Layout
from tests.pipelines import builds, damage

pytestmark = pytest.mark.slow

FRACTIONS = ("validation_fraction=0.25", "test_fraction=0.25")
WAVS = sorted((builds.ENGLISH / "wavs").iterdir())


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus in three splits, built by the command, which describes it; read-only."""
    data = tmp_path_factory.mktemp("three") / "data"
    ended = builds.run("build", builds.SAMPLE_CONFIG, *FRACTIONS, "--data", str(data))
    assert ended.returncode == 0, ended.stderr
    return Dataset.open(data)


def ids(dataset: Dataset, split: str) -> set[str]:
    return set(dataset.manifest(split)["utterance_id"].to_pylist())


def test_test_takes_from_training_alone(three: Dataset, tmp_path: Path) -> None:
    two = Dataset.open(builds.build(tmp_path / "two", overrides=FRACTIONS[:1]))
    assert ids(three, "validation") == ids(two, "validation")
    assert ids(three, "test") | ids(three, "train") == ids(two, "train")
    assert ids(three, "test") & ids(three, "train") == set() != ids(three, "test")
    assert {record.utterance_id for record in three.records("test")} == ids(three, "test")


def test_the_statistics_of_the_mels_are_those_of_training(three: Dataset, tmp_path: Path) -> None:
    two = Dataset.open(builds.build(tmp_path / "two", overrides=FRACTIONS[:1]))
    assert three.info.mel != two.info.mel
    assert validate_dataset(Path(str(three.layout.root))).findings == []  # which computes them from the shards


def test_the_report_and_the_card_have_the_test_split(three: Dataset) -> None:
    root = Path(str(three.layout.root))
    page = (root / "report.html").read_text(encoding="utf-8")
    assert "all of test" in page
    assert "of the speech is held out for validation, " in page
    head = next(line for line in (root / "README.md").read_text().splitlines() if line.startswith("| source"))
    assert head.endswith("| training | validation | test |")
    assert "manifest/*-test-*.parquet" in (root / "README.md").read_text()


def test_tensorflow_datasets_find_the_test_split(three: Dataset) -> None:
    described = json.loads((Path(str(three.layout.root)) / "dataset_info.json").read_text())
    lengths = {one["name"]: sum(map(int, one["shardLengths"])) for one in described["splits"]}
    tests = [length for name, length in lengths.items() if name.endswith("_test")]
    assert sum(tests) == len(ids(three, "test")) > 0


def test_a_test_split_is_added_and_taken_away_without_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = builds.build(tmp_path / "fresh", overrides=FRACTIONS)
    data = builds.build(tmp_path / "data", overrides=FRACTIONS[:1])
    before = builds.content(data)
    monkeypatch.setattr("preprocess.record.Preparation.__call__", None)
    builds.build(data, overrides=FRACTIONS)
    assert builds.content(data) == builds.content(fresh)
    builds.build(data, overrides=FRACTIONS[:1])
    assert builds.content(data) == before


def build_listed(
    folder: Path, texts: Iterable[tuple[str, str]], *words: str, same: Mapping[int, int] | None = None
) -> Dataset:
    """Build a clip for each pair of a split and a text, in that split.

    Args:
        same: number of a clip -> number of another one, which has the same recording.
    """
    corpus = folder / "corpus"
    (corpus / "wavs").mkdir(parents=True)
    rows, held_out = [], {split: list[str]() for split in SPLITS}
    for number, (split, text) in enumerate(texts):
        shutil.copy(WAVS[(same or {}).get(number, number)], corpus / "wavs" / f"C{number}.wav")
        rows.append(f"C{number}|{text}|{text}\n")
        held_out[split].append(f"ljspeech/C{number}\n")
    (corpus / "metadata.csv").write_text("".join(rows))
    (folder / "validation.txt").write_text("".join(held_out["validation"]))
    (folder / "test.txt").write_text("".join(held_out["test"]))
    lists = [f"held_out={folder}/validation.txt", f"held_out_for_test={folder}/test.txt", "validation_fraction=0"]
    overrides = [*builds.overrides_for(corpus, *lists, *words), "checks.characters_per_second_deviations=null"]
    builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    return Dataset.open(folder / "data")


TEXTS = [
    ("train", "In all three."),
    ("validation", "In all three."),
    ("test", "In all three."),
    ("train", "In training and validation."),
    ("validation", "In training and validation."),
    ("train", "In training and test."),
    ("test", "In training and test."),
    ("validation", "In validation and test."),
    ("test", "In validation and test."),
    ("train", "In training."),
    ("validation", "In validation."),
    ("test", "In test."),
]
# every text of an earlier split that a later one has, too
LEAKS = {"C0", "C1", "C3", "C5", "C7"}


def test_a_text_leaks_from_each_split_into_every_earlier_one(tmp_path: Path) -> None:
    dataset = build_listed(tmp_path, TEXTS)
    rows = [row for split in SPLITS for row in dataset.manifest(split).to_pylist()]
    assert {row["utterance_id"].removeprefix("ljspeech/") for row in rows if row["text_leaks"]} == LEAKS
    assert {row["utterance_id"].removeprefix("ljspeech/"): row["split"] for row in rows} == {
        f"C{number}": split for number, (split, _) in enumerate(TEXTS)
    }
    assert validate_dataset(tmp_path / "data").findings == []


def test_leaked_texts_can_be_rejected(tmp_path: Path) -> None:
    dataset = build_listed(tmp_path, TEXTS, "checks.reject_text_leaks=true", "max_rejected_fraction=1")
    kept = {name.removeprefix("ljspeech/") for split in SPLITS for name in ids(dataset, split)}
    assert kept == {f"C{number}" for number in range(len(TEXTS))} - LEAKS
    assert validate_dataset(tmp_path / "data").findings == []


@pytest.mark.parametrize(
    ("split", "text"), [("validation", "In validation."), ("validation", "In validation and test.")]
)
def test_validation_finds_a_wrong_mark_of_a_leak(split: str, text: str, tmp_path: Path) -> None:
    dataset = build_listed(tmp_path, TEXTS)
    (shard,) = dataset.info.shards_of(split)

    def spoil(rows: list[dict]) -> None:
        (row,) = (row for row in rows if row["original_text"] == text)
        row["text_leaks"] = not row["text_leaks"]

    damage.edit_rows(Layout(tmp_path / "data").manifest(shard.name), change=spoil)
    damage.sign(tmp_path / "data")
    found = [one for one in validate_dataset(tmp_path / "data").findings if one.check == "text_leaks"]
    assert [one.utterance_id for one in found] == [
        f"ljspeech/C{number}" for number, one in enumerate(TEXTS) if one == (split, text)
    ]


def test_a_recording_of_validation_that_test_has_too_is_a_finding(tmp_path: Path) -> None:
    """The config does not search for copies; validation compares the sha256 of the recordings."""
    build_listed(tmp_path, [("train", "One."), ("validation", "Two."), ("test", "Three.")], same={2: 1})
    found = [one for one in validate_dataset(tmp_path / "data").findings if one.check == "leak"]
    assert [one.utterance_id for one in found] == ["ljspeech/C1"]


def test_a_dataset_with_the_splits_of_its_corpus_is_repaired_and_built_again(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "wavs").mkdir(parents=True)
    parts = ["train", "dev", "test", "", "train-b"]
    rows = ["path,text,part\n"]
    for number, (wav, part) in enumerate(zip(WAVS, parts, strict=False)):
        shutil.copy(wav, corpus / "wavs" / f"C{number}.wav")
        rows.append(f"wavs/C{number}.wav,Sentence {number}.,{part}\n")
    (corpus / "table.csv").write_text("".join(rows))
    source = {"reader": "table", "root": str(corpus), "file": "table.csv", "language": "eng_Latn"}
    columns = {"audio": "path", "text": "text", "split": "part"}
    values = {"sources": {"x": {**source, "columns": columns}}, "tokenizer": builds.TOKENIZER, "validation_fraction": 0}
    (tmp_path / "config.yaml").write_text(json.dumps(values))
    data = builds.build(tmp_path / "data", config=str(tmp_path / "config.yaml"))
    before, states = builds.content(data), {path: path.stat().st_mtime_ns for path in (data / "shards").iterdir()}
    dataset = Dataset.open(data)
    found = {split: {name.removeprefix("x/wavs/") for name in ids(dataset, split)} for split in SPLITS}
    assert found == {"train": {"C0", "C3", "C4"}, "validation": {"C1"}, "test": {"C2"}}
    builds.build(data, config=str(data / "config.yaml"))
    assert {path: path.stat().st_mtime_ns for path in (data / "shards").iterdir()} == states
    (lost,) = dataset.info.shards_of("test")
    Layout(data).shard(lost.name).unlink()
    Layout(data).manifest(lost.name).unlink()
    assert builds.run("repair", "--data", str(data)).returncode == 0
    assert builds.content(data) == before
