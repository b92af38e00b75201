"""Hostile corpora: valid clips are written, every other one is rejected with a reason, and no worker is lost."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from tests.bench.memory import peak_rss
from tests.pipelines import builds
from tests.pipelines.hostile import CASES, WRITTEN, make_hostile

# The corpus contains copies of one recording on purpose.
OVERRIDES = (
    "max_rejected_fraction=1",
    "checks.min_duplicate_bits=null",
    "utterances_per_shard=8",
    "split_by=utterance",
)


def rows(data: Path, folder: str) -> list[dict]:
    return [row for path in sorted((data / folder).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hostile(tmp_path_factory.mktemp("hostile") / "corpus")


@pytest.fixture(scope="module")
def built(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [f"sources.ljspeech.root={corpus}", f"tokenizer={builds.TOKENIZER}", *OVERRIDES]
    return builds.build(tmp_path_factory.mktemp("built") / "data", config=builds.LJSPEECH_CONFIG, overrides=words)


def test_each_of_more_than_fifty_cases_has_the_expected_outcome(corpus: Path, built: Path) -> None:
    lines = (corpus / "metadata.csv").read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    number = {line.split(b"|")[0]: at for at, line in reversed(list(enumerate(lines, start=1)))}
    found = {row["utterance_id"]: row["reason"] for row in rows(built, "rejected")}
    found |= {row["utterance_id"]: WRITTEN for row in rows(built, "manifest") if row["utterance_id"] not in found}
    expected = {}
    for case in CASES:
        of_row = case.end in ("bad_metadata_row", "unsafe_path", "text_too_long")
        name = f"metadata.csv:{number[case.name.encode()]}" if of_row else case.name
        expected[f"ljspeech/{name}"] = case.end
    for name in (b"one field", b"far", b"endless"):
        expected[f"ljspeech/metadata.csv:{number[name]}"] = "bad_metadata_row"
    assert len(expected) > 60
    assert found == expected


def test_the_valid_clips_are_written_and_everything_is_counted(built: Path) -> None:
    source = Dataset.open(built).info.sources["ljspeech"]
    good = {f"ljspeech/{case.name}" for case in CASES if case.end == WRITTEN}
    assert {row["utterance_id"] for row in rows(built, "manifest")} == good
    assert source.read == source.written + source.rejected == len(CASES) + 3
    assert validate_dataset(built).findings == []


def test_every_message_is_one_line_of_bounded_length(built: Path) -> None:
    for row in rows(built, "rejected"):
        assert row["message"]
        assert len(row["message"]) < 2000
        assert "\n" not in row["message"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_no_worker_is_lost_and_memory_stays_flat(workers: int, corpus: Path, tmp_path: Path) -> None:
    """Compared with a build of as many good clips; each of the 10-minute clips alone would take 50 MB."""
    peaks = {}
    for name, root in (("good", builds.make_corpus(tmp_path / "good", clips=len(CASES))), ("hostile", corpus)):
        words = [
            str(builds.COMMAND),
            "build",
            builds.LJSPEECH_CONFIG,
            "--data",
            str(tmp_path / f"{name}_data"),
            f"workers={workers}",
        ]
        words += [f"sources.ljspeech.root={root}", f"tokenizer={builds.TOKENIZER}", *OVERRIDES]
        peaks[name] = peak_rss(words)  # fails where the command does
    assert peaks["hostile"] < peaks["good"] + (64 << 20)
    assert len(rows(tmp_path / "hostile_data", "manifest")) == sum(case.end == WRITTEN for case in CASES)
