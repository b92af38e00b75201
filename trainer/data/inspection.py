"""What a run would be fed, from the manifests: shapes, batches, padding, shares; nothing is read from the shards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shared.dataset import Contract, Dataset
from shared.layout import SPLITS
from shared.records import MEL_DTYPES
from trainer.config.train_config import TrainConfig
from trainer.data.record_index import cut_blocks, read_records
from trainer.data.epoch_order import EpochOrder
from trainer.data.epoch_preview import Filled, first_epoch
from trainer.data.plan import Plan, plan_rows
from trainer.data.manifest_rows import Rows, read_rows
from trainer.data.buckets import Bucket, assign, share_of_padding

INT32_BYTES, INT64_BYTES = 4, 8


SHOWN = 5  # of the longest clips


class Inspection(NamedTuple):
    """All that is shown."""

    plan: Plan
    rows: dict[str, Rows]
    bucket: np.ndarray  # [rows] of each training record; K where it is left out
    padding: np.ndarray  # [K] of the frames of each bucket, as planned
    first_epoch: Filled
    batch_bytes: tuple[int, ...]  # of each bucket, as it goes to the device
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
    order = _order(dataset, plan=plan, bucket=bucket, config=config)
    return Inspection(
        plan,
        rows,
        bucket,
        _padding(train, plan=plan, bucket=bucket),
        first_epoch(order, frames=train.frames, buckets=plan.buckets),
        tuple(batch_bytes(one, contract=dataset.info.contract) for one in plan.buckets),
        _longest(train, heard=rates > 0),
    )


def _order(dataset: Dataset, *, plan: Plan, bucket: np.ndarray, config: TrainConfig) -> EpochOrder:
    """The order of the training stream."""
    chunk_bytes = config.input.chunk_bytes
    return EpochOrder(
        cut_blocks(read_records(dataset, split="train"), chunk_bytes=chunk_bytes),
        bucket=bucket,
        weights=plan.rates["train"],
        buckets=plan.buckets,
        chunk_bytes=chunk_bytes,
        seed=config.seed,
    )


def batch_bytes(bucket: Bucket, *, contract: Contract) -> int:
    """A batch as it goes to the device: mel [B, F, M], tokens [B, T], frames, token_counts and rows [B]."""
    mel = bucket.frames * contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
    return bucket.clips * (mel + (bucket.tokens + 2) * INT32_BYTES + INT64_BYTES)


def _padding(rows: Rows, *, plan: Plan, bucket: np.ndarray) -> np.ndarray:
    frames = np.bincount(bucket, plan.rates["train"] * rows.frames, len(plan.buckets) + 1)[:-1]
    return share_of_padding(frames, plan.staircase.records * [one.frames for one in plan.buckets])


def _longest(rows: Rows, *, heard: np.ndarray) -> list[tuple[str, int, int]]:
    places = np.nonzero(heard)[0]
    order = places[np.argsort(-rows.frames[places], kind="stable")[:SHOWN]]
    return [(rows.utterance_id[place].as_py(), int(rows.frames[place]), int(rows.tokens[place])) for place in order]
