"""Distributes each global batch of the input stream over several devices and machines, by rows.

The order of batches is computed for all replicas together. Row i of a batch then goes to replica i mod R. The batches
are therefore the same on any number of replicas, and all replicas get the same number of batches, whatever the sizes of
the shards. The cost: each process reads all records from the disk, and decodes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from trainer.data.pipeline import Stream
from trainer.data.position import Position, Share


def endless(
    stream: Stream,
    strategy: tf.distribute.Strategy,
    *,
    position: Position,
    log: Callable[[str], object],
) -> Iterator[dict[str, Any]]:
    """`stream.endless` over the replicas of a strategy: per-replica tensors, but a single `next`."""

    def make_batches(position: Position) -> Iterator[dict[str, Any]]:
        for batch in distribute(stream, strategy, position=position):
            yield {**batch, "next": local_values(batch["next"])[0]}

    return stream.distributed(make_batches, position=position, log=log)


def local_values(value: Any) -> tuple[tf.Tensor, ...]:
    """The tensors that the replicas of this process hold of a value; of a plain tensor, itself."""
    return value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)


def distribute(
    stream: Stream,
    strategy: tf.distribute.Strategy,
    *,
    position: Position = Position(),  # noqa: B008 (immutable)
) -> tf.distribute.DistributedDataset:
    """The batches of `stream.endless`, distributed over the replicas of a strategy.

    The parts of a batch have one shape: if R does not divide the clips of a batch, some replicas get an empty row more.
    Each part is copied to its device ahead of its use.
    """

    def make_input(context: tf.distribute.InputContext) -> tf.data.Dataset:
        count = context.num_replicas_in_sync // context.num_input_pipelines
        share = Share(context.input_pipeline_id * count, count, context.num_replicas_in_sync)
        batches = stream.batches(position, share=share)
        # for a finite dataset, hosts would ask each other before each batch whether all of them still have one
        return batches.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))

    options = tf.distribute.InputOptions(
        experimental_fetch_to_device=True, experimental_per_replica_buffer_size=stream.config.prefetch_batches
    )
    return strategy.distribute_datasets_from_function(make_input, options)
