"""What a run would be fed, from the manifests: shapes, batches, padding, shares; nothing is read from the shards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shared.dataset import Contract, Dataset
from shared.layout import SPLITS
from shared.records import MEL_DTYPES
from trainer.config import TrainConfig
from trainer.input.mixing import Share, shares
from trainer.input.plan import Plan, plan_rows
from trainer.input.rows import Rows, read_rows
from trainer.input.staircase import Bucket, assign

INT32_BYTES = 4


class Filled(NamedTuple):
    """What an epoch really puts into each bucket: remainders moved up, the last batches of chunks partly empty."""

    batches: np.ndarray  # [K] int64
    records: np.ndarray  # [K] int64
    frames: np.ndarray  # [K] int64, valid

    def padding(self, buckets: tuple[Bucket, ...]) -> float:
        """The share of all frames of all batches that is padding, empty rows too."""
        return 1.0 - float(self.frames.sum()) / float(self.batches @ [one.clips * one.frames for one in buckets])


class Inspection(NamedTuple):
    """All that is shown."""

    plan: Plan
    rows: dict[str, Rows]
    bucket: np.ndarray  # [rows] of each training record; K where it is left out
    first_epoch: Filled
    batch_bytes: tuple[int, ...]  # of each bucket, as it goes to the device
    mix: dict[str, list[Share]]  # by "language", "source", "speaker"
    longest: list[tuple[str, int, int]]  # utterance, frames and tokens of those that are heard


def inspect_input(config: TrainConfig, *, dataset: Dataset) -> Inspection:
    """Plan the input of a run and its first epoch.

    Raises:
        UserError: there is nothing to train on, or a manifest is damaged.
    """
    rows = {split: read_rows(dataset, split=split) for split in SPLITS}
    plan = plan_rows(
        rows,
        dataset=dataset,
        config=config.input,
        frames_per_step=config.model.frames_per_step,
        steps=config.steps,
    )
    train, rates = rows["train"], plan.rates["train"]
    bucket = np.where(rates > 0, assign(plan.buckets, train.frames, train.tokens), len(plan.buckets))
    return Inspection(
        plan,
        rows,
        bucket,
        first_epoch(train, plan=plan, bucket=bucket, config=config),
        tuple(batch_bytes(one, contract=dataset.info.contract) for one in plan.buckets),
        {name: shares(train, getattr(train, name), rates=rates) for name in ("language", "source", "speaker")},
        _longest(train, heard=rates > 0),
    )


def batch_bytes(bucket: Bucket, *, contract: Contract) -> int:
    """A batch as it goes to the device: mel [B, F, M], tokens [B, T], frames and token_counts [B]."""
    mel = bucket.frames * contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
    return bucket.clips * (mel + (bucket.tokens + 2) * INT32_BYTES)


def _longest(rows: Rows, *, heard: np.ndarray, shown: int = 5) -> list[tuple[str, int, int]]:
    places = np.nonzero(heard)[0]
    order = places[np.argsort(-rows.frames[places], kind="stable")[:shown]]
    return [(rows.utterance_id[place].as_py(), int(rows.frames[place]), int(rows.tokens[place])) for place in order]
