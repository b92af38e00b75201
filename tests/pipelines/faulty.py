"""Corpora with recordings that crash, hang or cannot be read, and builds of them as a user runs them.

The faults are those of `injected_faults/sitecustomize.py`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pipelines.validation.validate import validate_dataset
from preprocess.utterance import CRASH_STAGE, READING_STAGE
from shared.dataset import Dataset
from shared.tables import read_table
from tests.pipelines import builds

CLIPS = 8
FAULTS = ("segfault", "worker-only", "hang", "memory", "eio", "estale-twice")
# the stages of the rejections; a recording with another fault is prepared in the end
REJECTED = {**dict.fromkeys(("segfault", "worker-only", "hang", "memory"), CRASH_STAGE), "eio": READING_STAGE}


def environment() -> dict[str, str]:
    """That of a process in which recordings fail as their content says."""
    return os.environ | {"PYTHONPATH": str(builds.INJECTED_FAULTS)}


def make_corpus(folder: Path, faults: Mapping[str, str]) -> Path:
    """A corpus of CLIPS clips, some with a fault; id -> fault."""
    corpus = builds.make_corpus(folder, clips=CLIPS)
    for name, fault in faults.items():
        path = corpus / "wavs" / f"{name}.wav"
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content + f"!{fault}".encode().ljust(64))
    return corpus


def build_to_the_end(
    corpus: Path, data: Path, *more: str, runner: str = "local"
) -> list[subprocess.CompletedProcess[str]]:
    """Build as a user does who runs the command again until it succeeds."""
    ended: list[subprocess.CompletedProcess[str]] = []
    words = [builds.COMMAND, *builds.build_words(corpus, "max_rejected_fraction=1.0", *more, data=data)]
    words += ["--runner", runner]
    while not ended or (ended[-1].returncode != 0 and len(ended) <= 2 * CLIPS):
        ended.append(subprocess.run(words, env=environment(), capture_output=True, text=True, check=False))
    return ended


def check_rejections(data: Path, *, faults: Mapping[str, str]) -> None:
    """Check that every clip was either written or rejected as its fault says, and that the dataset is valid."""
    dataset = Dataset.open(data)
    rejected = {
        row["utterance_id"].removeprefix("ljspeech/"): row
        for shard in dataset.info.shards
        for row in read_table(dataset.layout.rejected(shard.name)).to_pylist()
    }
    assert {name: row["stage"] for name, row in rejected.items()} == {
        name: REJECTED[fault] for name, fault in faults.items() if fault in REJECTED
    }
    assert {row["reason"] for row in rejected.values()} <= {"unreadable_audio"}
    assert sum(shard.records for shard in dataset.info.shards) == CLIPS - len(rejected)
    assert validate_dataset(data, workers=1).findings == []
