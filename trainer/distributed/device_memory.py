"""Detect batches that do not fit into device memory, and make full-size batches to probe it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import tensorflow as tf

from trainer.data.bucket_types import Bucket
from trainer.data.distributed_input import local_values
from trainer.platform.tf_errors import is_out_of_memory

T = TypeVar("T")
Batch = dict[str, tf.Tensor]


class OutOfMemory(Exception):
    """A batch, or a device's part of it, did not fit into memory."""

    def __init__(self, bucket: Bucket):
        super().__init__(str(bucket))
        self.bucket = bucket


def translate_oom(step: Callable[[Batch], T], batch: Batch) -> T:
    """Run the step on a batch, and raise OutOfMemory with the batch's bucket if it does not fit.

    Raises:
        OutOfMemory: the batch did not fit.
    """
    try:
        return step(batch)
    except tf.errors.OpError as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(bucket_of(batch)) from error


@contextlib.contextmanager
def ignore_oom() -> Iterator[None]:
    """End the block silently if something in it does not fit into memory."""
    try:
        yield
    except OutOfMemory:
        return
    except tf.errors.OpError as error:
        if not is_out_of_memory(error):
            raise


def translate_oom_in_input(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches, and raise OutOfMemory if the next one does not fit beside the current one.

    Raises:
        OutOfMemory: with the bucket of the current batch.
    """
    current = None
    while True:
        try:
            batch = next(batches, None)
        except tf.errors.OpError as error:
            if current is None or not is_out_of_memory(error):
                raise
            raise OutOfMemory(current) from error
        if batch is None:
            return
        current = bucket_of(batch)
        yield batch


def bucket_of(batch: Batch) -> Bucket:
    """Return the shape of a batch, or of one device's part of a distributed batch."""
    clips, frames, _ = local_values(batch["mel"])[0].shape
    return Bucket(clips, frames, local_values(batch["tokens"])[0].shape[1])


def full_batch(bucket: Bucket, *, like: dict[str, tf.TensorSpec]) -> Batch:
    """Make a batch of a bucket's shape without padding; `like` gives names and dtypes as in the input stream."""
    lengths = {"mel": [bucket.frames, like["mel"].shape[-1]], "tokens": [bucket.tokens]}
    full = {"frames": bucket.frames, "token_counts": bucket.tokens}
    if "reference" in like:
        lengths["reference"] = like["reference"].shape[1:]
        full["reference_frames"] = like["reference"].shape[1]
    return {
        name: tf.fill([bucket.clips, *lengths.get(name, [])], tf.cast(full.get(name, 0), spec.dtype))
        for name, spec in like.items()
        if name != "next"
    }
