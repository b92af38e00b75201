"""Columns that a corpus' metadata passes on: where they arrive, and what a change of one costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.compare.changes import find_changes
from pipelines.trace.command import trace
from pipelines.trace.terminal import details_summary
from preprocess.record import Preparation
from shared.dataset import Dataset
from shared.tables import read_table
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
    tables = [read_table(path) for folder in ("manifest", "withheld") for path in (data / folder).glob("*.parquet")]
    return {row["utterance_id"]: json.loads(row["custom"]) for table in tables for row in table.to_pylist()}


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
    with monkeypatch.context() as patch:
        patch.setattr(Preparation, "__call__", None)  # none is prepared
        builds.build(data, config=str(config))
    expected["few/wavs/C00003"]["mood"] = "merry"
    assert values(data) == expected
    assert builds.content(data) == builds.content(builds.build(tmp_path / "fresh", config=str(config)))
    check_tools(before, data)


def check_tools(before: Path, after: Path) -> None:
    """Compare names the change, and trace shows the values."""
    changes = find_changes(Dataset.open(before), Dataset.open(after))
    assert changes["custom"]["utterance_id"].to_pylist() == ["few/wavs/C00003"]
    (details,) = trace(Dataset.open(after), "few/wavs/C00003")
    assert details.custom == {"mood": "merry", "age": "3"}
    assert "custom      age '3', mood 'merry'" in details_summary(details, root=after)
