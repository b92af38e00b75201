"""webdataset: eight tars of .npy, read one behind another in two workers, bucketed by a stage of its pipeline."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
import webdataset as wds

from tests.bench.peers.clips import SEED, WINDOW_CLIPS, Batch, Corpus, bucketed
from tests.bench.peers.pytorch_npy import WORKERS, Collate, views

TOLERANCE = 0.0
TARS = 8


def prepare(folder: Path, corpus: Corpus) -> None:
    tars = [wds.TarWriter(str(folder / f"{number}.tar")) for number in range(TARS)]
    for number, clip in enumerate(corpus.clips()):
        tars[number % TARS].write({"__key__": f"{number:06d}", "mel.npy": clip.mel, "tokens.npy": clip.tokens})
    for tar in tars:
        tar.close()


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    clips = wds.WebDataset(
        sorted(map(str, folder.glob("*.tar"))), shardshuffle=TARS, workersplitter=wds.split_by_worker, seed=SEED
    )
    repeated = clips.repeat() if epochs is None else clips.repeat(epochs)
    loaded = repeated.shuffle(WINDOW_CLIPS).decode().to_tuple("mel.npy", "tokens.npy")
    collated = loaded.compose(functools.partial(_bucketed, bounds=corpus.bounds)).map(_Collated(corpus))
    return views(wds.WebLoader(collated, batch_size=None, num_workers=WORKERS))


def _bucketed(clips: Iterable[tuple[np.ndarray, np.ndarray]], *, bounds: list[int]) -> Iterator[list]:
    return bucketed(clips, frames=lambda clip: len(clip[0]), bounds=bounds)


class _Collated:
    def __init__(self, corpus: Corpus):
        self._collate = Collate(corpus)

    def __call__(self, clips: list[tuple[np.ndarray, np.ndarray]]) -> tuple[torch.Tensor, ...]:
        return self._collate([(torch.from_numpy(mel), torch.from_numpy(tokens)) for mel, tokens in clips])
