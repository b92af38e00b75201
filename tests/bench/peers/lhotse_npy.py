"""lhotse with a .npy a clip in place of lilcom: nothing to decompress, nothing lost."""

from __future__ import annotations

from pathlib import Path

import lhotse

from tests.bench.peers.clips import Corpus
from tests.bench.peers.lhotse_lilcom import batches, write

__all__ = ["TOLERANCE", "batches", "prepare"]

TOLERANCE = 0.0


def prepare(folder: Path, corpus: Corpus) -> None:
    write(folder, corpus, writer=lhotse.NumpyFilesWriter(folder / "features"))
