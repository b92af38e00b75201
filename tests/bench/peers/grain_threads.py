"""grain as fast as we found it: ArrayRecord without compression, batches read by threads of the one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench.peers.clips import Batch, Corpus
from tests.bench.peers.grain_processes import THREADS, TOLERANCE, planned, write

__all__ = ["TOLERANCE", "batches", "prepare"]


def prepare(folder: Path, corpus: Corpus) -> None:
    write(folder, corpus, options="group_size:1,uncompressed")


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    return (Batch(*batch) for batch in planned(folder, corpus, epochs=epochs).to_iter_dataset(THREADS))
