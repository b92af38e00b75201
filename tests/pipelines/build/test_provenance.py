"""A dataset notes what made it, and nothing else is mixed in without a word."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipelines.build import prepare_shards, provenance
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.provenance import PROCESSOR, check_worker, differences, made_here, merged
from shared.dataset import Contract, Dataset
from shared.errors import UserError
from tests.pipelines import builds, damage

OTHER = "0.0.1"


def sample_contract() -> Contract:
    return create_contract(create_preparation(builds.config_of([], config=builds.SAMPLE_CONFIG)))


@pytest.fixture
def newer_soxr(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on another version of soxr is installed."""
    versions = provenance._library_versions()
    monkeypatch.setattr(provenance, "_library_versions", lambda: versions | {"soxr": OTHER})


def test_the_versions_are_those_of_this_process() -> None:
    here = made_here()
    assert here["numpy"] == (np.__version__,)
    assert here["libsndfile"] == (soundfile.__libsndfile_version__,)
    assert here[PROCESSOR] != ("",)


@pytest.mark.slow
def test_a_processor_without_further_instruction_sets_is_noted_by_its_architecture() -> None:
    """As NumPy has it where it finds none beyond its baseline."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    disabled = [os.environ.get("NPY_DISABLE_CPU_FEATURES", ""), *found]
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)}
    program = "from pipelines.build.provenance import made_here; print(*made_here()['processor'])"
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout == f"{platform.machine()}\n"


def test_a_dataset_notes_what_made_it(small: Path) -> None:
    assert Dataset.open(small).info.made_by == made_here()


@pytest.mark.slow
@pytest.mark.usefixtures("newer_soxr")
def test_a_build_with_another_version_says_so_and_notes_both(
    spoiled: Path, small: Path, command: Callable, tmp_path: Path
) -> None:
    before = Dataset.open(small).info.made_by["soxr"]
    corpus = builds.make_corpus(tmp_path / "corpus", clips=14)
    outcome = command(*builds.build_words(corpus, "utterances_per_shard=4", data=spoiled))
    assert outcome.code == 0
    assert f"earlier records were made with soxr {before[0]} (here {OTHER}), and this build keeps" in outcome.err
    assert Dataset.open(spoiled).info.made_by["soxr"] == tuple(sorted([*before, OTHER]))
    again = command(*builds.build_words(corpus, "utterances_per_shard=5", data=spoiled))
    assert "were made with" not in again.err, "this version is noted already"


@pytest.mark.slow
def test_a_build_that_goes_on_after_an_interrupted_one_with_another_version_says_so_and_notes_both(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=14, bad_rows=["no text"] * 3)
    words = builds.build_words(corpus, "utterances_per_shard=4", data=tmp_path / "data")
    versions = provenance._library_versions()
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "_library_versions", lambda: versions | {"soxr": OTHER})
        assert command(*words, "max_rejected_fraction=0.01").code == 2  # its records stay in the staging folder
    outcome = command(*words, "max_rejected_fraction=1")
    assert f"earlier records were made with soxr {OTHER} (here {versions['soxr']}), and this build keeps" in outcome.err
    assert Dataset.open(tmp_path / "data").info.made_by["soxr"] == tuple(sorted([OTHER, versions["soxr"]]))


@pytest.mark.slow
def test_the_processors_of_all_workers_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=4)
    monkeypatch.setattr(prepare_shards, "processor_here", lambda: "another worker's")
    builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
    noted = Dataset.open(tmp_path / "data").info.made_by[PROCESSOR]
    assert set(noted) == {"another worker's", *made_here()[PROCESSOR]}


@pytest.mark.slow
@pytest.mark.usefixtures("newer_soxr")
def test_without_the_cache_everything_is_made_by_this_version(spoiled: Path, command: Callable, tmp_path: Path) -> None:
    """As the message of such a build advises."""
    shutil.rmtree(spoiled / "build_cache")
    corpus = builds.make_corpus(tmp_path / "corpus", clips=14)
    outcome = command(*builds.build_words(corpus, "utterances_per_shard=4", data=spoiled))
    assert "were made with" not in outcome.err
    assert Dataset.open(spoiled).info.made_by["soxr"] == (OTHER,)


@pytest.mark.slow
@pytest.mark.usefixtures("newer_soxr")
def test_a_repair_with_another_version_says_so_and_gives_the_published_bytes(
    small: Path, spoiled: Path, command: Callable
) -> None:
    damage.flip(spoiled / f"shards/{damage.stems(spoiled)[0]}.tfrecord", position=100)
    outcome = command("repair", "--data", str(spoiled))
    assert outcome.code == 0
    assert f"(here {OTHER}): its bytes may not come out again" in outcome.err
    found = {name: data for name, data in builds.content(spoiled).items() if not name.startswith("quarantine")}
    assert found == builds.content(small)


def test_a_worker_with_another_version_ends_the_job_in_a_line() -> None:
    driver, contract = made_here() | {PROCESSOR: ("another",), "of_the_driver_alone": ("1",)}, sample_contract()
    check_worker(made_by=driver, contract=contract, here=contract)
    with pytest.raises(
        UserError, match=rf"the worker on \S+ has not the driver's soxr {OTHER} \(here .*\); nothing was"
    ):
        check_worker(made_by=driver | {"soxr": (OTHER,)}, contract=contract, here=contract)


def test_a_worker_with_another_tokenizer_ends_the_job_in_a_line() -> None:
    driver = sample_contract()
    other = driver.tokenizer.model_copy(update={"sha256": "0" * 64, "location": "elsewhere"})
    here = driver.model_copy(update={"tokenizer": other})
    expected = (
        rf"has not the driver's tokenizer.sha256 {driver.tokenizer.sha256} \(here 0+\); nothing was .* same files$"
    )
    with pytest.raises(UserError, match=expected):
        check_worker(made_by=made_here(), contract=driver, here=here)


@pytest.mark.slow
def test_a_job_ends_if_its_workers_differ_from_the_driver(
    tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = provenance.made_here()
    monkeypatch.setattr("pipelines.build.job.made_here", lambda pitch: here | {"numpy": (OTHER,)})
    corpus = builds.make_corpus(tmp_path / "corpus", clips=4)
    outcome = command(*builds.build_words(corpus, "workers=2", data=tmp_path / "data"))
    assert outcome.code == 2
    assert f"has not the driver's numpy {OTHER}" in outcome.err.splitlines()[-1]
    assert not (tmp_path / "data/_SUCCESS").exists()


def test_versions_are_merged_and_compared_by_name() -> None:
    one, other = {"a": ("1",), "b": ("2",)}, {"a": ("1",), "b": ("3",), "c": ("4",)}
    assert merged(one, other) == {"a": ("1",), "b": ("2", "3"), "c": ("4",)}
    assert list(merged(made_here(), made_here()).items()) == list(made_here().items()), (
        "in one order: bytes are compared"
    )
    assert list(differences(one, other)) == ["b 2 (here 3)"]
    assert list(differences({}, other)) == []
    assert list(differences(merged(one, other), one)) == []
