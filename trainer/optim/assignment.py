"""Assignment of variables inside a compiled step, on one device or on the many of a strategy."""

from __future__ import annotations

import keras
import tensorflow as tf


def assign(variable: keras.Variable, value: tf.Tensor) -> None:
    """Set a variable on the device that computes.

    Each replica of a `MirroredStrategy` sets its own copy, and by the same numbers, for gradients are summed before.
    TensorFlow's own assignment would leave the compiled program to ask the other replicas.
    """
    held = variable.value
    if isinstance(held, tf.distribute.DistributedValues):
        held = held._get_on_device_or_primary()
    held.assign(value)
