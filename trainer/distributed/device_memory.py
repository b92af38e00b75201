"""Batches that do not fit into a device's memory, and full ones to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import tensorflow as tf

from trainer.data.buckets import Bucket
from trainer.data.distributed_input import parts_of
from trainer.platform.tf_errors import is_out_of_memory

T = TypeVar("T")
Batch = dict[str, tf.Tensor]


class OutOfMemory(Exception):
    """A batch did not fit, or the part of it that a device got."""

    def __init__(self, bucket: Bucket):
        super().__init__(str(bucket))
        self.bucket = bucket


def translate_oom(step: Callable[[Batch], T], batch: Batch) -> T:
    """The step of a batch.

    Raises:
        OutOfMemory: it did not fit.
    """
    try:
        return step(batch)
    except tf.errors.OpError as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(bucket_of(batch)) from error


def translate_oom_in_input(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches as they come.

    Raises:
        OutOfMemory: of the batch before, beside which the next one found no room.
    """
    before = None
    while True:
        try:
            batch = next(batches, None)
        except tf.errors.OpError as error:
            if before is None or not is_out_of_memory(error):
                raise
            raise OutOfMemory(before) from error
        if batch is None:
            return
        before = bucket_of(batch)
        yield batch


def bucket_of(batch: Batch) -> Bucket:
    """The shape of a batch, or of the part of it that a device gets."""
    clips, frames, _ = parts_of(batch["mel"])[0].shape
    return Bucket(clips, frames, parts_of(batch["tokens"])[0].shape[1])


def full_batch(bucket: Bucket, *, like: dict[str, tf.TensorSpec]) -> Batch:
    """A batch of a shape in which every frame and token counts, of the kinds that a stream gives."""
    lengths = {"mel": [bucket.frames, like["mel"].shape[-1]], "tokens": [bucket.tokens]}
    full = {"frames": bucket.frames, "token_counts": bucket.tokens}
    return {
        name: tf.fill([bucket.clips, *lengths.get(name, [])], tf.cast(full.get(name, 0), spec.dtype))
        for name, spec in like.items()
        if name != "next"
    }
