"""No operation of the input graph calls back into Python; a graph that does is refused."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.batches import DEVICE, make_stream
from trainer.data.parser import StoredMel
from trainer.data.position import Position
from trainer.data.python_ops import graphs, refuse_python_ops


def operations(dataset: tf.data.Dataset) -> collections.Counter[str]:
    """All operations of a graph by TensorFlow's own serialisation, those in nested functions too."""
    graph = tf.compat.v1.GraphDef.FromString(dataset._as_serialized_graph().numpy())
    functions = [node.op for function in graph.library.function for node in function.node_def]
    return collections.Counter([*(node.op for node in graph.node), *functions])


def test_the_walk_reaches_every_operation_and_copies_no_tensor_that_was_captured() -> None:
    """TensorFlow's own serialisation holds the tensor."""
    captured = tf.zeros([1 << 20])
    numbers = tf.data.Dataset.range(8).shuffle(4).flat_map(lambda x: tf.data.Dataset.range(x).map(lambda y: x + y))
    values = numbers.filter(lambda x: x > 1).batch(2).map(lambda x: tf.gather(captured, x)).prefetch(1)
    both = tf.data.Dataset.zip(values, tf.data.Dataset.range(9).map(tf.math.square)).with_options(tf.data.Options())
    whole = tf.compat.v1.GraphDef.FromString(both._as_serialized_graph().numpy())
    walked = list(graphs(both))
    expected = {node.op for function in whole.library.function for node in function.node_def}
    assert {"GatherV2", "RangeDataset", "Greater", "Square", "AddV2"} <= expected
    inner = {node.op for graph in walked for function in graph.library.function for node in function.node_def}
    assert expected <= inner | {node.op for graph in walked for node in graph.node}
    assert whole.ByteSize() > 4 << 20 > 100 * sum(graph.ByteSize() for graph in walked)


@pytest.mark.slow
def test_the_stream_that_training_reads_holds_no_python_operation(dataset: Dataset) -> None:
    stream, _, _ = make_stream(dataset)
    found = operations(stream.batches(Position()))
    assert found["ParseExampleV2"] == 1, "the walk did not reach the nested functions"
    assert found["DecodePaddedRaw"] >= 1
    assert [name for name in found if "py" in name.lower() and "func" in name.lower()] == []


@pytest.mark.slow
def test_a_stream_whose_graph_calls_python_gives_no_batch(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = StoredMel.__call__

    def slow(self: StoredMel, *args: Any, frames: tf.Tensor, **settings: Any) -> tf.Tensor:
        return decode(self, *args, frames=tf.py_function(lambda x: x, [frames], tf.int32), **settings)

    monkeypatch.setattr(StoredMel, "__call__", slow)
    stream, _, _ = make_stream(dataset)
    with pytest.raises(UserError, match=r"calls Python in .*PyFunc"):
        next(stream.endless(device=DEVICE))


def with_py_function() -> tf.data.Dataset:
    return tf.data.Dataset.range(3).map(lambda x: tf.py_function(abs, [x], tf.int64))


def with_numpy_function() -> tf.data.Dataset:
    return tf.data.Dataset.range(3).map(lambda x: tf.numpy_function(abs, [x], tf.int64))


def with_stateless_numpy_function() -> tf.data.Dataset:
    return tf.data.Dataset.range(3).map(lambda x: tf.numpy_function(abs, [x], tf.int64, stateful=False))


def from_a_generator() -> tf.data.Dataset:
    return tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int64))


def nested_in_an_interleave() -> tf.data.Dataset:
    return tf.data.Dataset.range(3).interleave(lambda _: with_py_function().batch(2), num_parallel_calls=2)


@pytest.mark.parametrize(
    "make",
    [
        with_py_function,
        with_numpy_function,
        with_stateless_numpy_function,
        from_a_generator,
        nested_in_an_interleave,
    ],
)
def test_a_graph_that_calls_python_is_refused(make: Callable[[], tf.data.Dataset]) -> None:
    with pytest.raises(UserError, match=r"calls Python in .*PyFunc"):
        refuse_python_ops(make())


def test_a_graph_of_tensorflow_operations_is_accepted() -> None:
    refuse_python_ops(tf.data.Dataset.range(3).map(lambda x: x + 1).batch(2))
