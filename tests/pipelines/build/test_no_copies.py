"""Recordings that were compared once are not compared again, and the dataset is that of a build which compares all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.build import copy_proof, duplicates, no_copies
from pipelines.build.no_copies import NoCopies, no_copies_path
from preprocess.record import Preparation
from preprocess.utterance import Utterance
from shared.layout import Layout
from shared.tables import read_table, write_table
from tests.pipelines import builds

SETTINGS = ("checks.min_duplicate_bits=60", "max_rejected_fraction=1", "utterances_per_shard=8")  # many candidates
COPY = "Z1"  # of the first clip


class Corpus:
    """The first clips of the sample corpus, each once, and a copy of one of them."""

    def __init__(self, folder: Path):
        self.folder, self.data = folder / "corpus", folder / "data"
        (self.folder / "wavs").mkdir(parents=True)
        self._wavs = sorted((builds.ENGLISH / "wavs").iterdir())
        self.names = [path.stem for path in self._wavs]

    def list_clips(self, count: int) -> None:
        """List so many clips and the copy."""
        names = {path.stem: path for path in self._wavs[:count]} | {COPY: self._wavs[0]}
        for name, path in names.items():
            shutil.copy2(path, self.folder / "wavs" / f"{name}.wav")
        rows = [f"{name}|Sentence {name} is spoken." for name in names]
        (self.folder / "metadata.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")

    def build(self, *more: str, data: Path | None = None) -> int:
        """Build, and return the number of comparisons."""
        compared = 0

        def counted(*mels: np.ndarray, **options: object) -> bool:
            nonlocal compared
            compared += 1
            return copy_proof.are_copies(*mels, **options)  # type: ignore[arg-type]

        words = builds.overrides_for(self.folder, *SETTINGS, *more)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(duplicates, "are_copies", counted)
            builds.build(data or self.data, config=builds.LJSPEECH_CONFIG, overrides=words)
        return compared

    def check_is_that_of_a_build_from_nothing(self) -> int:
        """Check the dataset, and return the number of comparisons of the build from nothing."""
        fresh = self.data.with_name("fresh")
        compared = self.build(data=fresh)
        assert builds.content(self.data) == builds.content(fresh)
        shutil.rmtree(fresh)
        return compared


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path)
    corpus.list_clips(12)
    assert corpus.build() > 12
    return corpus


@pytest.mark.slow
def test_of_a_corpus_that_grows_only_pairs_with_a_new_recording_are_compared(corpus: Corpus) -> None:
    corpus.list_clips(13)
    compared = corpus.build()
    of_all = corpus.check_is_that_of_a_build_from_nothing()
    assert 0 < compared <= 13 + 1 < of_all  # the copy is proven again


@pytest.mark.slow
def test_a_threshold_that_changes_there_and_back_compares_copies_alone(corpus: Corpus) -> None:
    assert corpus.build("checks.max_duration_s=19") == 1
    assert corpus.build() == 1
    corpus.check_is_that_of_a_build_from_nothing()


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def change_each_pair(path: Path) -> None:
    """Flip a bit of each pair; the table itself stays readable."""
    table = read_table(path)
    pairs = table["pair"].to_numpy() ^ np.uint64(1)
    write_table(path, pa.table({"pair": pairs}, schema=table.schema))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [remove, cut, change_each_pair])
def test_pairs_that_are_lost_or_damaged_cost_time_alone(corpus: Corpus, damage: Callable[[Path], None]) -> None:
    damage(no_copies_path(Layout(corpus.data)))
    corpus.list_clips(13)
    assert corpus.build() > 13
    corpus.check_is_that_of_a_build_from_nothing()


@pytest.mark.slow
def test_a_recording_that_was_replaced_unnoticed_says_nothing_of_the_one_that_was_prepared(tmp_path: Path) -> None:
    """Without stored mels the recordings themselves are compared: only those that were prepared."""
    corpus = Corpus(tmp_path)
    corpus.list_clips(12)
    path = corpus.folder / "wavs" / f"{COPY}.wav"
    original, state = path.read_bytes(), path.stat()
    other = (corpus.folder / "wavs" / f"{corpus.names[5]}.wav").read_bytes()
    prepare = Preparation.__call__

    def replaced(self: Preparation, utterance: Utterance) -> object:
        prepared = prepare(self, utterance)
        if utterance.id.endswith(COPY):  # before the recordings are compared
            path.write_bytes(other)
        return prepared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preparation, "__call__", replaced)
        corpus.build("mel_dtype=none")
    path.write_bytes(original)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    fresh = tmp_path / "fresh"
    corpus.list_clips(13)
    corpus.build("mel_dtype=none")
    corpus.build("mel_dtype=none", data=fresh)
    assert builds.content(corpus.data) == builds.content(fresh)


def test_pairs_of_another_preparation_or_comparison_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, layout = NoCopies(np.empty(0)), Layout(tmp_path)
    layout.build_cache.mkdir()
    made.add(2**63, 5)
    made.write(layout, preparation="one")
    assert NoCopies.read(layout, preparation="one").has(2**63, 5)
    assert not NoCopies.read(layout, preparation="one").has(5, 2**63)
    assert not NoCopies.read(layout, preparation="another").has(2**63, 5)
    monkeypatch.setattr(no_copies, "PROOF_VERSION", copy_proof.PROOF_VERSION + 1)
    assert not NoCopies.read(layout, preparation="one").has(2**63, 5)


@pytest.mark.parametrize(("asked", "left"), [(2, 3), (1, 1)])
def test_pairs_that_a_build_does_not_ask_for_stay_while_they_are_not_more_than_the_others(
    tmp_path: Path, asked: int, left: int
) -> None:
    layout, first = Layout(tmp_path), NoCopies(np.empty(0))
    layout.build_cache.mkdir()
    for number in range(3):
        first.add(number, 7)
    first.write(layout, preparation="one")
    second = NoCopies.read(layout, preparation="one")
    assert all(second.has(number, 7) for number in range(asked))
    second.write(layout, preparation="one")
    third = NoCopies.read(layout, preparation="one")
    assert sum(third.has(number, 7) for number in range(3)) == left
