"""Random damage to a dataset: repair names the damaged files and restores their bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.config import BuildConfig
from pipelines.repair.repair import repair_dataset
from tests.pipelines import builds, faults

FAULTS, LOTS = 300, 6


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildConfig]:
    """A dataset of twenty clips with kept, filtered and rejected ones, and its config."""
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


def check_repaired(original: tuple[Path, BuildConfig], *, seed: int, kind: faults.Kind | None, folder: Path) -> None:
    """Damage a copy and repair it; the config is given, because the dataset's own may be the damaged file."""
    published, config = original
    before = dataset(published)
    data = builds.copied(published, to=folder / str(seed))
    fault = faults.spoil(data, seed=seed, kind=kind)
    assert dataset(data) != before, (seed, fault)
    repair = repair_dataset(data, config=config)
    assert fault.files <= set(repair.damaged), (seed, fault)
    assert not repair.is_aborted, (seed, fault, repair.differences)
    assert repair.differing == (), (seed, fault)
    assert dataset(data) == before, (seed, fault)
    shutil.rmtree(data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", faults.KINDS, ids=lambda kind: kind.__name__)
def test_damage_of_each_kind_is_repaired_to_the_published_bytes(
    kind: faults.Kind, original: tuple[Path, BuildConfig], tmp_path: Path
) -> None:
    for seed in range(2):
        check_repaired(original, seed=seed, kind=kind, folder=tmp_path)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("lot", range(LOTS))
def test_every_random_damage_is_repaired_to_the_published_bytes(
    lot: int, original: tuple[Path, BuildConfig], tmp_path: Path
) -> None:
    for seed in range(lot, FAULTS, LOTS):
        check_repaired(original, seed=seed, kind=None, folder=tmp_path)
