"""lhotse: features stored by its chunked lilcom writer, its dynamic bucketing sampler, two of PyTorch's workers.

Lilcom is lossy, and the writer that lhotse's guide recommends.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lhotse
import torch
from lhotse.dataset import DynamicBucketingSampler
from lhotse.features.io import FeaturesWriter

from shared.features import FeatureSpec
from tests.bench.peers.clips import CLIPS_PER_BATCH, SEED, Batch, Clip, Corpus, epoch_numbers
from tests.bench.peers.pytorch_npy import WORKERS, Collate, views

TOLERANCE = 0.1


def prepare(folder: Path, corpus: Corpus) -> None:
    write(folder, corpus, writer=lhotse.LilcomChunkyWriter(folder / "features"))


def write(folder: Path, corpus: Corpus, *, writer: FeaturesWriter) -> None:
    """The clips as features, and the manifest of their cuts."""
    spec = corpus.dataset.info.contract.features
    with writer:
        cuts = [
            _cut(clip, name=f"{number:06d}", writer=writer, spec=spec) for number, clip in enumerate(corpus.clips())
        ]
    lhotse.CutSet.from_cuts(cuts).to_file(folder / "cuts.jsonl.gz")


def _cut(clip: Clip, *, name: str, writer: FeaturesWriter, spec: FeatureSpec) -> lhotse.MonoCut:
    frames, n_mels = clip.mel.shape
    duration_s = frames / spec.frames_per_second
    features = lhotse.Features(
        type="log-mel",
        num_frames=frames,
        num_features=n_mels,
        frame_shift=1 / spec.frames_per_second,
        sampling_rate=spec.sample_rate_hz,
        start=0,
        duration=duration_s,
        storage_type=writer.name,
        storage_path=str(writer.storage_path),
        storage_key=writer.write(name, clip.mel),
        channels=0,
    )
    said = lhotse.SupervisionSegment(
        id=name, recording_id=name, start=0, duration=duration_s, custom={"tokens": clip.tokens.tolist()}
    )
    return lhotse.MonoCut(id=name, start=0, duration=duration_s, channel=0, features=features, supervisions=[said])


class Cuts(torch.utils.data.Dataset):
    """A batch of cuts, loaded and padded."""

    def __init__(self, corpus: Corpus):
        self._collate = Collate(corpus)

    def __getitem__(self, cuts: lhotse.CutSet) -> tuple[torch.Tensor, ...]:
        return self._collate([(torch.from_numpy(cut.load_features()), _tokens(cut)) for cut in cuts])


def _tokens(cut: lhotse.MonoCut) -> torch.Tensor:
    return torch.tensor(cut.supervisions[0].custom["tokens"], dtype=torch.int32)


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    spec = corpus.dataset.info.contract.features
    cuts = lhotse.load_manifest(folder / "cuts.jsonl.gz").to_eager()
    sampler = DynamicBucketingSampler(
        cuts,
        max_cuts=CLIPS_PER_BATCH,
        duration_bins=[(bound + 0.5) / spec.frames_per_second for bound in corpus.bounds[:-1]],
        shuffle=True,
        drop_last=False,
        seed=SEED,
    )
    loader = torch.utils.data.DataLoader(
        Cuts(corpus), sampler=sampler, batch_size=None, num_workers=WORKERS, persistent_workers=True
    )
    for epoch in epoch_numbers(epochs):
        sampler.set_epoch(epoch)
        yield from views(loader)
