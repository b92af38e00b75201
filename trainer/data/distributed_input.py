"""The stream on several devices and machines: each global batch dealt out by its rows.

The order is made first, for all, and a batch is then dealt like cards, row i to replica i mod R. So the batches are
the same on any number of replicas, and all replicas have as many of them, whatever the sizes of the shards. The price:
each process reads all records from the disk, and decodes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from trainer.data.position import Position, Share
from trainer.data.pipeline import Stream


def endless(
    stream: Stream,
    strategy: tf.distribute.Strategy,
    *,
    position: Position,
    tell: Callable[[str], object],
) -> Iterator[dict[str, Any]]:
    """`stream.endless` dealt to the replicas of a strategy: a value of each tensor for each, but one of `next`."""

    def deal(position: Position) -> Iterator[dict[str, Any]]:
        for batch in distribute(stream, strategy, position=position):
            yield {**batch, "next": parts_of(batch["next"])[0]}

    return stream.dealt(deal, position=position, tell=tell)


def parts_of(value: Any) -> tuple[tf.Tensor, ...]:
    """A tensor, or what each replica of this process holds of it."""
    return value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)


def distribute(
    stream: Stream,
    strategy: tf.distribute.Strategy,
    *,
    position: Position = Position(),  # noqa: B008 (immutable)
) -> tf.distribute.DistributedDataset:
    """The batches of `stream.endless` dealt to the replicas of a strategy.

    Where R does not divide the clips of a batch, some replicas have a row more that is empty: the parts of a batch are
    of one shape. Each part is fetched to its device before it is asked for.
    """

    def parts_of(context: tf.distribute.InputContext) -> tf.data.Dataset:
        count = context.num_replicas_in_sync // context.num_input_pipelines
        share = Share(context.input_pipeline_id * count, count, context.num_replicas_in_sync)
        batches = stream.batches(position, share=share)
        # of what has an end, hosts ask each other before each batch whether all of them still have one
        return batches.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))

    options = tf.distribute.InputOptions(
        experimental_fetch_to_device=True, experimental_per_replica_buffer_size=stream.config.prefetch_batches
    )
    return strategy.distribute_datasets_from_function(parts_of, options)
