"""Refuses an input pipeline that calls Python: such a pipeline would wait for the interpreter lock at each batch."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from shared.errors import UserError

PYTHON_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "NumpyFunction")


def graphs(dataset: tf.data.Dataset) -> Iterator[tf.compat.v1.GraphDef]:
    """The graphs of all functions of an input pipeline, each with the functions within it.

    The graph of the whole dataset is not used: TensorFlow serialises with it every captured tensor, here columns of all
    records, into a message that can hold 2 GiB.
    """
    for function in dataset._functions():
        yield function.function.graph.as_graph_def()
    for source in dataset._inputs():
        yield from graphs(source)


def python_ops(dataset: tf.data.Dataset) -> list[str]:
    """Names of the operations in an input pipeline's functions that call Python."""
    nodes = (
        node
        for graph in graphs(dataset)
        for part in (graph.node, *(function.node_def for function in graph.library.function))
        for node in part
    )
    return [node.name for node in nodes if node.op in PYTHON_OPS]


def refuse_python_ops(dataset: tf.data.Dataset) -> None:
    """Raise UserError if the graph would wait for Python's interpreter lock at each batch."""
    if found := python_ops(dataset):
        raise UserError(
            f"the input graph calls Python in {', '.join(found)}; training does not start with such a graph"
        )
