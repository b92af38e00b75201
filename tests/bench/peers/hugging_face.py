"""Hugging Face `datasets`: Arrow on disk, mapped into memory; the rest is PyTorch's `DataLoader` with two workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import datasets
import torch

from tests.bench.peers.clips import Batch, Corpus
from tests.bench.peers.pytorch_npy import Batches, loader, views

TOLERANCE = 0.0


def prepare(folder: Path, corpus: Corpus) -> None:
    n_mels = corpus.dataset.info.contract.features.n_mels
    features = datasets.Features(
        {
            "mel": datasets.Array2D(shape=(None, n_mels), dtype="float16"),
            "tokens": datasets.Sequence(datasets.Value("int32")),
            "frames": datasets.Value("int32"),
        }
    )
    rows = [{"mel": clip.mel, "tokens": clip.tokens, "frames": len(clip.mel)} for clip in corpus.clips()]
    datasets.Dataset.from_list(rows, features=features).save_to_disk(str(folder / "arrow"))


class Rows(torch.utils.data.Dataset):
    """(mel, tokens) by number; a batch at once where the loader asks for it."""

    def __init__(self, rows: datasets.Dataset):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitems__(self, numbers: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        found = self._rows[numbers]
        return list(zip(found["mel"], found["tokens"], strict=True))


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    stored = datasets.load_from_disk(str(folder / "arrow"))
    sampler = Batches(list(stored["frames"]), bounds=corpus.bounds, epochs=epochs)
    rows = Rows(stored.select_columns(["mel", "tokens"]).with_format("torch", dtype=None))
    return views(loader(rows, sampler, corpus=corpus))
