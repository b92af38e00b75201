"""The records of shards by TensorFlow's own reader, and the batches of a stream, in comparable form."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from trainer.config.data_config import InputConfig
from trainer.data.pipeline import Stream
from trainer.data.plan import Plan, plan_dataset
from trainer.data.position import Position

DEVICE = "/CPU:0"

Row = tuple[bytes, int, tuple[int, ...]]  # mel, frames, dense tokens


def read_shards(dataset: Dataset, *, split: str) -> list[Row]:
    """Every record of a split in the order of the shards, by TensorFlow's own reader and parser."""
    entries = json.loads(dataset.layout.vocabulary.read_bytes())
    dense = {nllb_id: number for number, (nllb_id, _) in enumerate(entries)}
    spec = {
        "mel": tf.io.FixedLenFeature([], tf.string),
        "frames": tf.io.FixedLenFeature([], tf.int64),
        "tokens": tf.io.RaggedFeature(tf.int64),
    }
    rows: list[Row] = []
    for shard in dataset.info.shards_of(split):
        records = tf.data.TFRecordDataset(str(dataset.layout.shard(shard.name))).batch(1 << 20)
        parsed = tf.io.parse_example(next(iter(records)), spec)
        tokens = [tuple(dense[token] for token in one) for one in parsed["tokens"].to_list()]
        rows += zip(parsed["mel"].numpy(), parsed["frames"].numpy().tolist(), tokens, strict=True)
    return rows


def rows_of(batches: Iterable[dict]) -> list[Row]:
    """The records in batches, without their padding."""
    return [
        (mel[:frames].tobytes(), int(frames), tuple(map(int, tokens[:count])))
        for batch in batches
        for mel, frames, tokens, count in zip(
            *(batch[name] for name in ("mel", "frames", "tokens", "token_counts")), strict=True
        )
        if frames > 0
    ]


def make_stream(
    dataset: Dataset,
    *,
    split: str = "train",
    seed: int = 1,
    weights: np.ndarray | None = None,
    crop_frames: int | None = None,
    **settings: Any,
) -> tuple[Stream, Plan, InputConfig]:
    """A stream over two buckets unless the settings differ; `weights` replace the planned sampling rates, [rows]."""
    config = InputConfig(**{"buckets": 2, "global_frames_per_batch": 1500, **settings})
    plan = plan_dataset(dataset, config=config, frames_per_step=4, steps=100)
    if weights is not None:
        plan = plan._replace(rates={**plan.rates, split: weights})
    stream = Stream(dataset, split=split, plan=plan, config=config, seed=seed, crop_frames=crop_frames)
    return stream, plan, config


def as_numpy(batches: Iterable[dict]) -> Iterator[dict]:
    return ({name: value.numpy() for name, value in batch.items()} for batch in batches)


def until_epoch(
    stream: Stream,
    until: int,
    *,
    position: Position = Position(),  # noqa: B008 (immutable)
    log: Callable[[str], object] = warnings.warn,
) -> Iterator[dict]:
    """The batches from a position on up to the end of epoch `until - 1`."""
    batches = stream.endless(position, device=DEVICE, log=log)
    return itertools.takewhile(lambda batch: int(batch["next"][0]) < until, batches)


def epochs(stream: Stream, *, until: int, position: Position = Position()) -> list[dict]:  # noqa: B008 (immutable)
    """The batches of `until_epoch`, in numpy."""
    return list(as_numpy(until_epoch(stream, until, position=position)))
