"""PyTorch's `DataLoader` over one .npy a clip, batches of one bucket, two workers; the tokens are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from tests.bench.peers.clips import Batch, Corpus, bucketed, shuffled

TOLERANCE = 0.0
WORKERS = 2


def prepare(folder: Path, corpus: Corpus) -> None:
    for number, clip in enumerate(corpus.clips()):
        np.save(folder / f"{number:06d}.npy", clip.mel)


class Clips(torch.utils.data.Dataset):
    """Clip by number, as tensors."""

    def __init__(self, folder: Path, corpus: Corpus):
        self._files = sorted(map(str, folder.glob("*.npy")))
        clips = [(len(clip.mel), clip.tokens) for clip in corpus.clips()]
        self.frames = [frames for frames, _ in clips]
        self._tokens = [torch.from_numpy(tokens) for _, tokens in clips]

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(np.load(self._files[number])), self._tokens[number]


class Collate:
    """Clips to one padded batch, in the worker."""

    def __init__(self, corpus: Corpus):
        self._log_silence = corpus.log_silence

    def __call__(self, clips: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, ...]:
        mels, tokens = map(list, zip(*clips, strict=True))
        return (
            pad_sequence(mels, batch_first=True, padding_value=self._log_silence),
            torch.tensor([len(mel) for mel in mels]),
            pad_sequence(tokens, batch_first=True, padding_value=0),
            torch.tensor([len(one) for one in tokens]),
        )


class Batches(torch.utils.data.Sampler):
    """The numbers of the clips of each batch; without an end where there is none to the epochs."""

    def __init__(self, frames: list[int], *, bounds: list[int], epochs: int | None):
        self._frames, self._bounds, self._epochs = frames, bounds, epochs

    def __iter__(self) -> Iterator[list[int]]:
        numbers = shuffled(len(self._frames), epochs=self._epochs)
        return bucketed(numbers, frames=self._frames.__getitem__, bounds=self._bounds)


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    clips = Clips(folder, corpus)
    sampler = Batches(clips.frames, bounds=corpus.bounds, epochs=epochs)
    return views(loader(clips, sampler, corpus=corpus))


def loader(clips: torch.utils.data.Dataset, sampler: Batches, *, corpus: Corpus) -> torch.utils.data.DataLoader:
    """Two workers that make the sampler's batches."""
    return torch.utils.data.DataLoader(
        clips, batch_sampler=sampler, collate_fn=Collate(corpus), num_workers=WORKERS, persistent_workers=True
    )


def views(batches: Iterable[tuple[torch.Tensor, ...]]) -> Iterator[Batch]:
    return (Batch(*(tensor.numpy() for tensor in batch)) for batch in batches)
