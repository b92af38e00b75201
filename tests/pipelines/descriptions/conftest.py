"""The sample corpus in several shards, as other software finds it."""

from __future__ import annotations

import pytest

from shared.dataset import Dataset
from tests.pipelines import builds


@pytest.fixture(scope="package", params=["float16", "none"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Built by the command, in several shards; with `none` the clips that are no plain wavs are rejected."""
    data = tmp_path_factory.mktemp("described") / "data"
    settings = [
        f"mel_dtype={request.param}",
        "validation_fraction=0.2",
        "max_rejected_fraction=1",
        "utterances_per_shard=8",
        "sources.german.license=CC-BY-4.0",
    ]
    ended = builds.run("build", builds.SAMPLE_CONFIG, *settings, "--data", str(data))
    assert ended.returncode == 0, ended.stderr
    return Dataset.open(data)
