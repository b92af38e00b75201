"""Three hundred random faults of a dataset: repair names the damaged files and brings back their bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.config import BuildConfig
from pipelines.repair.repair import repair_dataset
from tests.pipelines import builds, faults

FAULTS, LOTS = 300, 6


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildConfig]:
    """A dataset of twenty clips with kept, withheld and rejected ones, and what it was built from."""
    folder = tmp_path_factory.mktemp("faults")
    corpus = builds.make_corpus(folder / "corpus", clips=20, bad_rows=["no separator", "NONE|Nobody.|Nobody."])
    overrides = builds.overrides_for(
        corpus,
        *("utterances_per_shard=7", "validation_fraction=0.2", "max_rejected_fraction=1", "checks.max_duration_s=2.3"),
    )
    config = builds.config_of(overrides)
    return builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides), config


def dataset(data: Path) -> dict[str, bytes]:
    other = ("quarantine/", ".staging/")
    return {name: found for name, found in builds.content(data).items() if not name.startswith(other)}


@pytest.mark.slow
@pytest.mark.parametrize("lot", range(LOTS))
def test_every_fault_is_repaired_to_the_bytes_that_were_published(
    lot: int, sound: tuple[Path, BuildConfig], tmp_path: Path
) -> None:
    """The config is at hand, as the dataset's own may be what is damaged."""
    original, config = sound
    before = dataset(original)
    for seed in range(lot, FAULTS, LOTS):
        data = builds.copied(original, to=tmp_path / str(seed))
        fault = faults.spoil(data, seed=seed)
        assert dataset(data) != before, (seed, fault)
        repair = repair_dataset(data, config=config)
        assert fault.files <= set(repair.damaged), (seed, fault)
        assert not repair.is_aborted, (seed, fault, repair.differences)
        assert repair.differing == (), (seed, fault)
        assert dataset(data) == before, (seed, fault)
        shutil.rmtree(data)
