"""Assignment of variables inside a compiled step, on a single device or on a replica of a strategy."""

from __future__ import annotations

import keras
import tensorflow as tf


def assign(variable: keras.Variable, value: tf.Tensor) -> None:
    """Set a variable on the computing device.

    Each replica of a `MirroredStrategy` sets its own copy, to the same numbers, because gradients are summed before.
    TensorFlow's own assignment would synchronise replicas outside the compiled program.
    """
    held = variable.value
    if isinstance(held, tf.distribute.DistributedValues):
        held = held._get_on_device_or_primary()
    held.assign(value)
