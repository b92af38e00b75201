"""A dataset with its report, built once for all tests of the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.report import write_report
from shared.dataset import Dataset
from tests.pipelines import builds


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two sources with missing, duplicate and too long clips, and its report."""
    folder = tmp_path_factory.mktemp("report")
    bad = ["missing|No such clip.|No such clip.", "C00000|An id twice.|An id twice."]
    corpus = builds.make_corpus(folder / "corpus", clips=14, bad_rows=bad)
    overrides = builds.overrides_for(
        corpus,
        "sources.other.reader=ljspeech",
        f"sources.other.root={builds.ENGLISH}",
        "sources.other.language=eng_Latn",
        "utterances_per_shard=6",
        "validation_fraction=0.3",
        "checks.max_duration_s=2.4",
        "max_rejected_fraction=0.9",
    )
    data = builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    write_report(Dataset.open(data))
    return data


@pytest.fixture
def editable(reported: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return builds.copied(reported, to=tmp_path / "data")
