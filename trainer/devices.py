"""What a run computes on: all GPUs of this machine, or its CPU; each batch is shared by all of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from shared.errors import UserError
from trainer.input import replicas
from trainer.input.staircase import Bucket
from trainer.input.stream import Position, Stream
from trainer.memory import full_batch

Batch = dict[str, Any]  # tensors, or one for each device


class Devices:
    """The logical devices of the fastest kind; where there are several, each holds a copy of the model."""

    def __init__(self) -> None:
        """
        Raises:
            UserError: several machines are asked for.
        """
        if "TF_CONFIG" in os.environ:
            raise UserError(
                "TF_CONFIG asks for training on several machines, which is not there yet; unset it to train on all "
                "GPUs of this one"
            )
        found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        self._names = [f"/{one.device_type}:{number}" for number, one in enumerate(found)]
        self.strategy = tf.distribute.MirroredStrategy(self._names) if len(found) > 1 else None

    def __str__(self) -> str:
        return ", ".join(self._names)

    @property
    def first(self) -> str:
        """The one that does what is not shared: validation."""
        return self._names[0]

    @property
    def count(self) -> int:
        return len(self._names)

    @property
    def are_gpus(self) -> bool:
        return self.first.startswith("/GPU")

    def scope(self) -> contextlib.AbstractContextManager[object]:
        """Variables made within it are on all devices."""
        return self.strategy.scope() if self.strategy else contextlib.nullcontext()

    def batches(self, stream: Stream, position: Position, *, tell: Callable[[str], object]) -> Iterator[Batch]:
        """`stream.endless`, each batch dealt to the devices."""
        if self.strategy is None:
            return stream.endless(position, device=self.first, tell=tell)
        return replicas.endless(stream, self.strategy, position=position, tell=tell)

    def full_batch(self, bucket: Bucket, *, like: dict[str, tf.TensorSpec]) -> Batch:
        """A batch of a shape in which every frame and token counts, dealt to the devices."""
        part = bucket.part(self.count)

        def on_device(number: int) -> Batch:
            with tf.device(self._names[number]):
                return full_batch(part, like=like)

        if self.strategy is None:
            return on_device(0)
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: on_device(context.replica_id_in_sync_group)
        )
