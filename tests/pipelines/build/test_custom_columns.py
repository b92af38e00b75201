"""Columns that a corpus' metadata passes on: where they arrive, and what a change of one costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.build import crash_guard, write_shards
from pipelines.compare.changes import find_changes
from pipelines.descriptions.refresh import refresh_descriptions
from pipelines.trace.command import trace
from pipelines.trace.reproduce import SAME
from pipelines.trace.terminal import details_summary
from pipelines.validation.validate import validate_dataset
from preprocess.record import Preparation
from shared.dataset import Dataset
from shared.tables import MANIFEST, read_table
from tests.pipelines import builds

CONFIG = """
sources:
  few:
    reader: table
    root: {root}
    file: metadata.csv
    columns: {{audio: file, text: text}}
    language: en
    custom_columns: [mood, age]
tokenizer: {tokenizer}
utterances_per_shard: 4
checks: {{max_duration_s: 2.5}}
max_rejected_fraction: 1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config of twelve clips, of which some are longer than it allows; the test may change their metadata."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)
    rows = [f"wavs/C{number:05d}.wav,Sentence {'abcdefghijkl'[number]}.,calm,{number}" for number in range(12)]
    (corpus / "metadata.csv").write_text("\n".join(["file,text,mood,age", *rows]) + "\n")
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(root=corpus, tokenizer=builds.TOKENIZER))
    return path


def values(data: Path) -> dict[str, dict[str, str]]:
    """The custom columns of all kept and filtered records: id -> column -> value."""
    paths = [path for folder in ("manifest", "withheld") for path in (data / folder).glob("*.parquet")]
    tables = [read_table(path, schema=MANIFEST) for path in paths]
    return {row["utterance_id"]: json.loads(row["custom"]) for table in tables for row in table.to_pylist()}


def build_without_reading(data: Path, *, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build; fail if a recording is read."""
    with monkeypatch.context() as patch:
        patch.setattr(Preparation, "__call__", None)
        patch.setattr(crash_guard, "recording_sha256", None)
        builds.build(data, config=str(config))


@pytest.mark.slow
def test_a_changed_value_reaches_the_manifest_without_a_clip_being_prepared_again(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = builds.build(tmp_path / "before", config=str(config))
    data = builds.copied(before, to=tmp_path / "data")
    expected = {f"few/wavs/C{number:05d}": {"mood": "calm", "age": str(number)} for number in range(12)}
    assert values(data) == expected
    assert len(list((data / "withheld").glob("*.tfrecord"))) > 0
    metadata = tmp_path / "corpus" / "metadata.csv"
    metadata.write_text(metadata.read_text().replace("Sentence d.,calm", "Sentence d.,merry"))
    build_without_reading(data, config=config, monkeypatch=monkeypatch)
    expected["few/wavs/C00003"]["mood"] = "merry"
    assert values(data) == expected
    assert builds.content(data) == builds.content(builds.build(tmp_path / "fresh", config=str(config)))
    check_tools(before, data)


def check_tools(before: Path, after: Path) -> None:
    """Compare names the change, and trace shows the values."""
    changes = find_changes(Dataset.open(before), Dataset.open(after))
    assert changes["custom"].to_pylist() == [
        {"utterance_id": "few/wavs/C00003", "custom_a": '{"mood": "calm"}', "custom_b": '{"mood": "merry"}'}
    ]
    (details,) = trace(Dataset.open(after), "few/wavs/C00003")
    assert details.custom == {"mood": "merry", "age": "3"}
    assert 'custom      {"age": "3", "mood": "merry"}' in details_summary(details, root=after)


@pytest.mark.slow
def test_a_dataset_of_a_version_without_custom_columns_is_read_and_grows(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = config.read_text()
    config.write_text(written.replace("custom_columns: [mood, age]", ""))
    made = write_shards._manifest
    with monkeypatch.context() as patch:
        patch.setattr(write_shards, "_manifest", lambda *rows, **place: made(*rows, **place).drop_columns("custom"))
        data = builds.build(tmp_path / "data", config=str(config))
    before = builds.content(data)
    assert validate_dataset(data).findings == []
    assert values(data) == {f"few/wavs/C{number:05d}": {} for number in range(12)}
    refresh_descriptions(Dataset.open(data))
    assert "utterances/custom" not in (data / "croissant.json").read_text()
    (details,) = trace(Dataset.open(data), "few/wavs/C00003", reproduce=True)
    assert (details.custom, details.reproduction) == ({}, SAME)
    build_without_reading(data, config=config, monkeypatch=monkeypatch)
    assert builds.content(data) == before
    config.write_text(written)
    build_without_reading(data, config=config, monkeypatch=monkeypatch)
    assert builds.content(data) == builds.content(builds.build(tmp_path / "fresh", config=str(config)))
