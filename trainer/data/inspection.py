"""Previews the input of a run from the manifests: batch shapes, batches, padding, shares; no shard is read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shared.dataset import Contract, Dataset
from shared.layout import TRAINING_SPLITS
from shared.records import MEL_DTYPES
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket, padding_share
from trainer.data.buckets import assign_buckets
from trainer.data.epoch_order import EpochOrder
from trainer.data.epoch_preview import EpochStats, first_epoch_stats
from trainer.data.manifest_rows import ManifestRows, read_manifest_rows
from trainer.data.plan import Plan, plan_rows
from trainer.data.record_index import cut_blocks, read_record_index

INT32_BYTES, INT64_BYTES = 4, 8
SHOWN_LONGEST = 5


class Inspection(NamedTuple):
    """The plan of a run's input, and statistics of it."""

    plan: Plan
    rows: dict[str, ManifestRows]
    bucket: np.ndarray  # [rows] of each training record; K: left out
    padding: np.ndarray  # [K] planned share of the frames of each bucket
    first_epoch: EpochStats
    batch_bytes: tuple[int, ...]  # of each bucket's batches on the device
    longest: list[tuple[str, int, int]]  # utterance, frames and tokens of the longest sampled clips


def inspect_input(config: TrainConfig, *, dataset: Dataset) -> Inspection:
    """Plan the input of a run and its first epoch.

    Raises:
        UserError: there is nothing to train on, or a manifest is damaged.
    """
    rows = {split: read_manifest_rows(dataset, split=split) for split in TRAINING_SPLITS}
    plan = plan_rows(
        rows,
        dataset=dataset,
        config=config.input,
        frames_per_step=config.model.frames_per_step,
        steps=config.steps,
    )
    train, rates = rows["train"], plan.rates["train"]
    bucket = np.where(rates > 0, assign_buckets(plan.buckets, train.frames, train.tokens), len(plan.buckets))
    order = _order(dataset, plan=plan, bucket=bucket, config=config)
    return Inspection(
        plan,
        rows,
        bucket,
        _padding(train, plan=plan, bucket=bucket),
        first_epoch_stats(order, frames=train.frames, buckets=plan.buckets),
        tuple(batch_bytes(one, contract=dataset.info.contract) for one in plan.buckets),
        _longest(train, sampled=rates > 0),
    )


def _order(dataset: Dataset, *, plan: Plan, bucket: np.ndarray, config: TrainConfig) -> EpochOrder:
    """The order of the training stream."""
    chunk_bytes = config.input.chunk_bytes
    return EpochOrder(
        cut_blocks(read_record_index(dataset, split="train"), chunk_bytes=chunk_bytes),
        bucket=bucket,
        weights=plan.rates["train"],
        buckets=plan.buckets,
        chunk_bytes=chunk_bytes,
        seed=config.seed,
    )


def batch_bytes(bucket: Bucket, *, contract: Contract) -> int:
    """The size of a batch on the device: mel [B, F, M], tokens [B, T], frames, token_counts and rows [B]."""
    mel = bucket.frames * contract.features.n_mels * MEL_DTYPES[contract.mel_dtype].itemsize
    return bucket.clips * (mel + (bucket.tokens + 2) * INT32_BYTES + INT64_BYTES)


def _padding(rows: ManifestRows, *, plan: Plan, bucket: np.ndarray) -> np.ndarray:
    frames = np.bincount(bucket, plan.rates["train"] * rows.frames, len(plan.buckets) + 1)[:-1]
    return padding_share(frames, plan.bucket_plan.records * [one.frames for one in plan.buckets])


def _longest(rows: ManifestRows, *, sampled: np.ndarray) -> list[tuple[str, int, int]]:
    numbers = np.nonzero(sampled)[0]
    order = numbers[np.argsort(-rows.frames[numbers], kind="stable")[:SHOWN_LONGEST]]
    return [(rows.utterance_id[one].as_py(), int(rows.frames[one]), int(rows.tokens[one])) for one in order]
