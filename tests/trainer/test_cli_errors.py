"""`myxtts-train train` with a user's mistakes: one clear line, exit code 2, never a traceback."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.dataset import SCHEMA_VERSION
from shared.files import file_sha256
from shared.publication import format_checksums
from tests.trainer.conftest import spoil_record

CONFIG = "configs/train_sample.yaml"


@pytest.fixture
def mistake(command: Callable, tmp_path: Path) -> Callable[..., str]:
    """The one line that a user sees; no run is created unless training itself finds the mistake."""

    def run(*words: str | Path, data: Path, config: str | Path = CONFIG, trains: bool = False) -> str:
        outcome = command("train", config, *words, "--data", data, "--run", tmp_path / "run")
        assert outcome.code == 2
        assert outcome.out == ""
        assert "Traceback" not in outcome.err
        lines = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, outcome.err
        assert (tmp_path / "run" / "checkpoints").exists() == trains
        return lines[0]

    return run


def test_an_unknown_key_is_named_with_the_known_ones(mistake: Callable[..., str], data: Path) -> None:
    message = mistake("optimizer.learning_rat=1", data=data)
    assert "optimizer.learning_rat: unknown key; did you mean optimizer.learning_rate? known here: " in message


def test_an_unknown_key_in_the_file(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    config = tmp_path / "train.yaml"
    config.write_text("model:\n  sizes: pico\n")
    assert "model.sizes: unknown key; did you mean model.size? known here: size, crop_frames" in mistake(
        data=data, config=config
    )


@pytest.mark.parametrize("model", ["", "[pico]", "{size: [a]}", "{size: {a: 1}}"])
def test_an_invalid_model_beside_a_level(mistake: Callable[..., str], data: Path, tmp_path: Path, model: str) -> None:
    config = tmp_path / "train.yaml"
    config.write_text(f"preset: basic\nmodel: {model}\n")
    assert f"{config}: model" in mistake(data=data, config=config)


@pytest.mark.parametrize("content", ["optimizer: 5", "optimizer: [pico]", "optimizer: {schedule: fast}"])
def test_a_section_that_is_none_below_a_level_of_the_command_line(
    mistake: Callable[..., str], data: Path, tmp_path: Path, content: str
) -> None:
    config = tmp_path / "train.yaml"
    config.write_text(f"{content}\nmodel: {{size: pico}}\n")
    assert f"{config}: optimizer" in mistake("preset=enhanced", data=data, config=config)


PEAK = "optimizer.learning_rate.peak=1.0e-4"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("preset: basic\noptimizer: {learning_rate: {peak: 1.0e-4}}", []),
        ("preset: basic", [PEAK]),
        ("steps: 1", [PEAK]),
        ("steps: 1", ["preset=basic", PEAK]),
    ],
)
def test_a_section_that_lies_over_what_is_none(
    mistake: Callable[..., str], data: Path, tmp_path: Path, content: str, words: list[str]
) -> None:
    config = tmp_path / "train.yaml"
    config.write_text(f"{content}\nmodel: {{size: pico}}\n")
    assert "optimizer.learning_rate" in mistake(*words, data=data, config=config)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.size=huge", "model.size"),
        ("preset=[basic]", "preset"),
        ("steps=0", "steps"),
        ("optimizer.learning_rate=nan", "optimizer.learning_rate"),
        ("loss.mel=-1", "loss.mel"),
        ("input.buckets=0", "input.buckets"),
        ("input.sampling.language_temperature=0.5", "input.sampling.language_temperature"),
        ("input.max_frames=2", "leaves out every training record"),
        ("seed=4294967296", "seed"),
        ("steps", "key=value"),
    ],
)
def test_an_invalid_value(mistake: Callable[..., str], data: Path, override: str, told: str) -> None:
    assert told in mistake(override, data=data)


def test_no_dataset(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "no such directory" in mistake(data=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "no dataset here" in mistake(data=tmp_path / "empty")


def spoiled(data: Path, *, to: Path, version: int) -> Path:
    shutil.copytree(data, to)
    document = json.loads((to / "dataset.json").read_text())
    document["contract"]["schema_version"] = version
    (to / "dataset.json").write_text(json.dumps(document))
    return to


def test_a_dataset_of_another_contract_version(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    message = mistake(data=spoiled(data, to=tmp_path / "data", version=1))
    assert f"schema version 1; expected {SCHEMA_VERSION}" in message


def test_a_dataset_with_a_damaged_vocabulary(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / "vocab.json").write_text("{")
    message = mistake(data=tmp_path / "data")
    assert "vocab.json: not the file that was published" in message
    assert "make validate" in message


def test_a_dataset_in_a_store_without_the_package_for_it(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    outcome = command("train", CONFIG, "--data", "gs://bucket/corpus", "--run", tmp_path / "run")
    assert outcome.code == 2
    assert outcome.err.startswith("error: gs://bucket/corpus: Please install gcsfs")
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.slow
def test_a_dataset_with_a_corrupt_record(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    shard = spoil_record(data, to=tmp_path / "data")
    message = mistake(data=tmp_path / "data", trains=True)
    assert f"{shard}: the record of " in message
    assert "is corrupt (" in message
    assert "make validate" in message


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (Path.unlink, "cannot be read (No such file or directory)"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes, expected "),
        (lambda path: shutil.copy(next(path.parent.glob("english-*")), path), "bytes, expected "),
    ],
    ids=["absent", "cut short", "of another"],
)
def test_a_dataset_whose_shard_is_not_whole(
    mistake: Callable[..., str], data: Path, tmp_path: Path, spoil: Callable[[Path], object], told: str
) -> None:
    shutil.copytree(data, tmp_path / "data")
    shard = next((tmp_path / "data" / "shards").glob("persian-train-*"))
    spoil(shard)
    message = mistake(data=tmp_path / "data")
    assert f"{shard}: a shard" in message
    assert told in message
    assert "make repair" in message


def test_a_dataset_whose_manifest_is_that_of_another_shard(
    mistake: Callable[..., str], data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data, tmp_path / "data")
    manifests = tmp_path / "data" / "manifest"
    shutil.copy(next(manifests.glob("english-train-*")), next(manifests.glob("german-train-*")))
    assert "not the file that was published" in mistake(data=tmp_path / "data")


def test_a_folder_of_datasets_is_told_from_a_dataset(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(data, tmp_path / "all" / name)
    message = mistake(data=tmp_path / "all")
    assert f"a folder of 2 datasets (first, second), none itself; train on one, DATA={tmp_path}/all/first" in message


def test_shards_of_another_dataset_in_the_folder_are_not_passed_over(
    mistake: Callable[..., str], data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data, tmp_path / "data")
    shards = tmp_path / "data" / "shards"
    shutil.copy(next(shards.glob("*")), shards / "other-train-00000-of-00001.tfrecord")
    message = mistake(data=tmp_path / "data")
    assert "1 file in shards/ of another dataset (other-train-00000-of-00001.tfrecord)" in message
    assert "move them away" in message


def test_a_dataset_with_nothing_to_train_on(mistake: Callable[..., str], data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "data")
    path = tmp_path / "data" / "dataset.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for source in document["sources"].values():
        for shard in source["shards"]:
            if shard["split"] == "train":
                (tmp_path / "data" / "shards" / f"{shard['name']}.tfrecord").unlink()
        source["shards"] = [shard for shard in source["shards"] if shard["split"] != "train"]
    path.write_text(json.dumps(document), encoding="utf-8")
    (path.parent / "_SUCCESS").write_bytes(format_checksums({path.name: file_sha256(path)}))
    assert "no training record in 3 shards" in mistake(data=tmp_path / "data")
