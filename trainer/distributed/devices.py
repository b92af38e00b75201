"""The devices of a run: all GPUs of its hosts, or their CPUs; all of them share each batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from shared.errors import UserError
from trainer.data import distributed_input as replicas
from trainer.data.bucket_types import Bucket
from trainer.data.pipeline import Stream
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import full_batch

Batch = dict[str, Any]  # tensors, or distributed values with one tensor per device


class Devices:
    """The logical GPUs, or else CPUs; with several devices each holds a replica of the model."""

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
        """Name this host's devices, and the number of hosts."""
        names = ", ".join(f"/{name.rpartition('/')[2].removeprefix('device:')}" for name in self._names)
        return f"{names} on each of {self._hosts.count} hosts" if self._hosts.count > 1 else names

    @property
    def first(self) -> str:
        """This host's first device, which runs the validation."""
        return self._names[0]

    @property
    def count(self) -> int:
        """Number of devices on all hosts."""
        return len(self._names) * self._hosts.count

    @property
    def gpus(self) -> int:
        """Number of GPUs that this host computes on."""
        return len(self._names) if "GPU:" in self.first else 0

    def scope(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which new variables are replicated on all devices."""
        return self.strategy.scope() if self.strategy else contextlib.nullcontext()

    def batches(self, stream: Stream, position: Position, *, log: Callable[[str], object]) -> Iterator[Batch]:
        """Return the endless batches of a stream from a position, distributed to the devices; `log` gets warnings."""
        if self.strategy is None:
            return stream.endless(position, device=self.first, log=log)
        return replicas.endless(stream, self.strategy, position=position, log=log)

    def check_all_reduce(self) -> None:
        """Check that all-reduce still works; a failed collective may break it until the process restarts.

        Raises:
            UserError: all-reduce no longer works.
        """
        if self.strategy is None or self._hosts.count > 1:
            return
        try:
            tf.function(lambda: self.strategy.run(_sum_of_ones), autograph=False)()
        except tf.errors.OpError as error:
            raise UserError(
                f"{self}: all-reduce no longer works in this process ({error.message.splitlines()[0]}); the reduced "
                "batch size is stored; run the same command again to resume from the last checkpoint"
            ) from error

    def full_batch(self, bucket: Bucket, *, like: dict[str, tf.TensorSpec]) -> Batch:
        """Make a batch of a bucket's shape without padding, distributed to the devices."""
        part = bucket.per_device(self.count)

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
