"""Builds and `make report` write the descriptions of a dataset, which are no part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.descriptions.refresh import refresh_descriptions
from shared.dataset import Dataset
from shared.errors import UserError
from tests.pipelines import builds

NAMES = ("dataset_info.json", "features.json", "croissant.json", "README.md")

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("dataset", ["float16"], indirect=True)]


@pytest.fixture
def data(dataset: Dataset, tmp_path: Path) -> Path:
    """A copy of the dataset."""
    return builds.copied(Path(str(dataset.layout.root)), to=tmp_path / "data")


def test_make_report_describes_an_older_dataset(data: Path) -> None:
    before = [(data / name).read_bytes() for name in NAMES]
    for name in NAMES:
        (data / name).unlink()
    assert builds.run("report", "--data", str(data)).returncode == 0
    assert [(data / name).read_bytes() for name in NAMES] == before
    for name, content in zip(NAMES, (b"\xff{", b"{}", b"[" * 100_000), strict=False):
        (data / name).write_bytes(content)
    refresh_descriptions(Dataset.open(data))
    assert [(data / name).read_bytes() for name in NAMES] == before
    written = [(data / name).stat().st_ino for name in NAMES]
    refresh_descriptions(Dataset.open(data))
    assert [(data / name).stat().st_ino for name in NAMES] == written
    assert builds.run("validate", "--data", str(data)).returncode == 0


def test_a_description_that_cannot_be_written_is_named(data: Path) -> None:
    (data / "features.json").unlink()
    (data / "features.json").mkdir()
    with pytest.raises(UserError, match=r"features\.json: .*make report"):
        refresh_descriptions(Dataset.open(data))


def test_a_readme_of_the_users_own_stays(data: Path) -> None:
    (data / "README.md").write_text("My own words.\n", encoding="utf-8")
    refresh_descriptions(Dataset.open(data))
    assert (data / "README.md").read_text(encoding="utf-8") == "My own words.\n"
