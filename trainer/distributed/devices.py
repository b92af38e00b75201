"""What a run computes on: all GPUs of its hosts, or their CPUs; each batch is shared by all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from shared.errors import UserError
from trainer.data import distributed_input as replicas
from trainer.data.buckets import Bucket
from trainer.data.pipeline import Stream
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import full_batch

Batch = dict[str, Any]  # tensors, or one for each device


class Devices:
    """The logical devices of the fastest kind; where there are several, each holds a copy of the model."""

    def __init__(self, hosts: Hosts):
        self._hosts = hosts
        if hosts.strategy is not None:
            self.strategy: tf.distribute.Strategy | None = hosts.strategy
            self._names = list(hosts.strategy.extended.worker_devices)
            return
        found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        self._names = [f"/{one.device_type}:{number}" for number, one in enumerate(found)]
        self.strategy = tf.distribute.MirroredStrategy(self._names) if len(found) > 1 else None

    def __str__(self) -> str:
        """Those of this host, and how many hosts have such."""
        names = ", ".join(f"/{name.rpartition('/')[2].removeprefix('device:')}" for name in self._names)
        return f"{names} on each of {self._hosts.count} hosts" if self._hosts.count > 1 else names

    @property
    def first(self) -> str:
        """This host's, which does what is not shared: validation."""
        return self._names[0]

    @property
    def count(self) -> int:
        """Those of all hosts."""
        return len(self._names) * self._hosts.count

    @property
    def gpus(self) -> int:
        """Those of this host that are computed on."""
        return len(self._names) if "GPU:" in self.first else 0

    def scope(self) -> contextlib.AbstractContextManager[object]:
        """Variables made within it are on all devices."""
        return self.strategy.scope() if self.strategy else contextlib.nullcontext()

    def batches(self, stream: Stream, position: Position, *, tell: Callable[[str], object]) -> Iterator[Batch]:
        """`stream.endless`, each batch dealt to the devices."""
        if self.strategy is None:
            return stream.endless(position, device=self.first, tell=tell)
        return replicas.endless(stream, self.strategy, position=position, tell=tell)

    def check_all_reduce(self) -> None:
        """Whether this host's still add up, which a fault amid a sum can end for as long as the process lives.

        Raises:
            UserError: they do not.
        """
        if self.strategy is None or self._hosts.count > 1:
            return
        try:
            tf.function(lambda: self.strategy.run(_sum_of_ones), autograph=False)()
        except tf.errors.OpError as error:
            raise UserError(
                f"{self} no longer add up in this process ({error.message.splitlines()[0]}); what did not fit is "
                "noted, and the same command goes on from the last checkpoint"
            ) from error

    def full_batch(self, bucket: Bucket, *, like: dict[str, tf.TensorSpec]) -> Batch:
        """A batch of a shape in which every frame and token counts, dealt to the devices."""
        part = bucket.part(self.count)

        def on_device(number: int) -> Batch:
            with tf.device(self._names[number]):
                return full_batch(part, like=like)

        if self.strategy is None:
            return on_device(0)
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: on_device(context.replica_id_in_sync_group % len(self._names))
        )


def _sum_of_ones() -> tf.Tensor:
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.ones([]))
