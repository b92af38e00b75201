"""The card of a dataset states its sources, and leads Hugging Face to the manifest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from datasets import load_dataset

from pipelines.descriptions.card import card
from pipelines.descriptions.licenses import read_licenses
from shared.dataset import Dataset
from shared.layout import TRAINING_SPLITS

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("dataset", ["float16", "none"], indirect=True)]


@pytest.fixture
def parts(dataset: Dataset) -> tuple[dict, str]:
    """The values of the head, and the text."""
    text = (dataset.layout.root / "README.md").read_text()
    _, head, body = re.split(r"^---$", text, maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(head), body


def test_the_head_leads_to_the_manifest_of_each_split(dataset: Dataset, parts: tuple[dict, str]) -> None:
    head, _ = parts
    (config,) = head["configs"]
    assert [one["split"] for one in config["data_files"]] == list(TRAINING_SPLITS)
    for one in config["data_files"]:
        patterns = [one["path"]] if isinstance(one["path"], str) else one["path"]
        found = {path.stem for pattern in patterns for path in Path(str(dataset.layout.root)).glob(pattern)}
        assert found == {shard.name for shard in dataset.info.shards_of(one["split"]) if shard.records} != set()
    assert head["language"] == sorted(
        {"eng_Latn": "en", "deu_Latn": "de", "pes_Arab": "fa"}[code] for code in dataset.info.languages
    )
    assert head["size_categories"] == ["n<1K"]
    assert (head["license"], head["license_name"]) == ("other", "CC-BY-4.0, not stated")


def test_hugging_face_opens_the_folder_by_its_card(dataset: Dataset, tmp_path: Path) -> None:
    read = load_dataset(str(dataset.layout.root), cache_dir=str(tmp_path))
    assert list(read) == list(TRAINING_SPLITS)
    for split in TRAINING_SPLITS:
        assert read[split].to_list() == dataset.manifest(split).to_pylist()


def test_each_source_is_a_row_with_licence_counts_and_lengths(dataset: Dataset, parts: tuple[dict, str]) -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in parts[1].splitlines() if "|" in line]
    by_name = {cells[0]: cells[1:] for cells in rows}
    for name, source in dataset.info.sources.items():
        reader, languages, license_, read, written, rejected, *lengths = by_name[name]
        assert (reader, languages) == (source.reader, ", ".join(source.languages))
        assert license_ == ("CC-BY-4.0" if name == "german" else "not stated")
        assert [int(read), int(written), int(rejected)] == [source.read, source.written, source.rejected]
        table = {
            split: dataset.manifest(split, columns=["utterance_id", "duration_s"]).to_pylist()
            for split in TRAINING_SPLITS
        }
        for split, length in zip(TRAINING_SPLITS, lengths, strict=True):
            seconds = sum(row["duration_s"] for row in table[split] if row["utterance_id"].startswith(f"{name}/"))
            assert float(length.removesuffix(" min")) == pytest.approx(seconds / 60, abs=0.06)
    assert parts[1].count("\n- ") >= 3 + len(dataset.info.made_by)


def test_the_sizes_of_a_large_dataset(dataset: Dataset) -> None:
    info = dataset.info
    shards = {name: source.shards for name, source in info.sources.items()}
    name = min(shards)
    large = [one.model_copy(update={"records": 2_000_000, "frames": 10**10}) for one in shards[name]]
    source = info.sources[name].model_copy(update={"shards": tuple(large)})
    text = card(info.model_copy(update={"sources": {**info.sources, name: source}}), licenses=read_licenses(dataset))
    total = sum(one.records for one in (*large, *(one for other in shards for one in shards[other] if other != name)))
    assert f"- {'1M<n<10M' if total < 10**7 else '10M<n<100M'}\n" in text
    assert re.search(r"\d{1,3},\d{3}\.\d h", text)
