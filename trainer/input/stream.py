"""The stream of batches: from file names to tensors on the device, resumable anywhere."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.input.config import InputConfig
from trainer.input.parse import Chunk, ChunkParser
from trainer.input.plan import Plan

PYTHON_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "NumpyFunction")


class Position(NamedTuple):
    """The next batch to come: its epoch, its chunk in the epoch, its place in the chunk."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class Stream:
    """Batches of one split of a dataset."""

    def __init__(self, dataset: Dataset, *, split: str, plan: Plan, config: InputConfig, seed: int):
        self._config, self._seed = config, seed
        shards = dataset.info.shards_of(split)
        self._files = [str(dataset.layout.shard(shard.name)) for shard in shards]
        self._weights = [dataset.info.weight_of(shard) for shard in shards]
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        self._parser = ChunkParser(
            plan.buckets, contract=dataset.info.contract, vocabulary_table=tf.constant(vocabulary.table())
        )

    def endless(self, position: Position = Position(), *, device: str) -> tf.data.Dataset:  # noqa: B008 (immutable)
        """Epoch after epoch from `position` on, each in an order of its own; every batch says where the next one is.

        Order depends on the seed and the configuration alone, so the continuation from a position is the one
        that an undisturbed stream would have had. The last step is the prefetch to the device.
        """
        first = tf.constant(position, tf.int64)
        epochs = tf.data.Dataset.counter(position.epoch)
        batches = epochs.flat_map(lambda epoch: self._epoch(epoch, first=first))
        return self._to_device(batches, device=device)

    def once(self, *, device: str) -> tf.data.Dataset:
        """Every record once, in the same order each time: by bucket within each chunk."""
        raw = tf.data.TFRecordDataset(self._files)
        chunks = raw.batch(self._config.chunk_records).map(lambda raw: self._parser.sort(raw, seed=None))
        batches = chunks.flat_map(lambda chunk: self._batches(chunk, start=tf.constant(0, tf.int64)))
        return self._to_device(batches.map(lambda _, content: content), device=device)

    def _epoch(self, epoch: tf.Tensor, *, first: tf.Tensor) -> tf.data.Dataset:
        resumed = tf.cast(epoch == first[0], tf.int64)
        first_chunk, first_batch = first[1] * resumed, first[2] * resumed
        chunks = (
            self._raw(epoch)
            .skip(first_chunk * self._config.chunk_records)
            .batch(self._config.chunk_records)
            .enumerate(first_chunk)
        )

        def sort(number: tf.Tensor, raw: tf.Tensor) -> tuple[tf.Tensor, Chunk]:
            return number, self._parser.sort(raw, seed=self._fold_seed(epoch, number + 1))

        def batches(number: tf.Tensor, chunk: Chunk) -> tf.data.Dataset:
            start = tf.where(number == first_chunk, first_batch, 0)
            return self._batches(chunk, start=start).map(
                lambda batch, content: {**content, "next": tf.stack([epoch, number, batch + 1])}
            )

        # the next chunk is parsed while this one is cut
        return chunks.map(sort).prefetch(1).flat_map(batches)

    def _raw(self, epoch: tf.Tensor) -> tf.data.Dataset:
        """Serialised records, files in an order of the epoch's own, several at a time.

        A file of weight 2 comes twice; one of weight 0.5 in every other epoch, by lot.
        """
        seed = self._fold_seed(epoch, tf.zeros([], tf.int64))
        lots = tf.random.stateless_uniform([len(self._files)], seed, dtype=tf.float64)
        times = tf.floor(tf.constant(self._weights, tf.float64) + lots)
        chosen = tf.repeat(self._files, tf.cast(times, tf.int32))
        files = tf.random.experimental.stateless_shuffle(chosen, seed)
        at_once = min(self._config.interleaved_files, len(self._files))
        return tf.data.Dataset.from_tensor_slices(files).interleave(
            tf.data.TFRecordDataset,
            cycle_length=at_once,
            block_length=16,
            num_parallel_calls=min(2, at_once),
            deterministic=True,
        )

    def _fold_seed(self, epoch: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return tf.stack([epoch * (1 << 32) + number, tf.constant(self._seed, tf.int64)])

    def _batches(self, chunk: Chunk, *, start: tf.Tensor) -> tf.data.Dataset:
        """(place in the chunk, batch) from place `start` on."""
        numbers = tf.data.Dataset.range(start, tf.size(chunk.starts, out_type=tf.int64))
        return numbers.map(lambda number: (number, self._parser.cut(chunk, tf.cast(number, tf.int32))))

    def _to_device(self, batches: tf.data.Dataset, *, device: str) -> tf.data.Dataset:
        options = tf.data.Options()
        options.deterministic = True
        batches = batches.with_options(options)
        refuse_python_ops(batches)
        return batches.apply(tf.data.experimental.prefetch_to_device(device, buffer_size=self._config.prefetch_batches))


def python_ops(dataset: tf.data.Dataset) -> list[str]:
    """Names of the operations in the input graph, functions included, that would call back into Python."""
    graph = tf.compat.v1.GraphDef.FromString(dataset._as_serialized_graph().numpy())
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    return [node.name for node in nodes if node.op in PYTHON_OPS]


def refuse_python_ops(dataset: tf.data.Dataset) -> None:
    """Raises UserError where the graph would wait for Python's interpreter lock at each batch."""
    if found := python_ops(dataset):
        raise UserError(
            f"the input graph calls Python in {', '.join(found)}; training does not start with such a graph"
        )
