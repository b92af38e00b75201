"""Training on several hosts: what they tell each other, and what is said where one is gone.

    first host    RUN · validation ─┐  numbers and values that all hosts bring to the same place of their work, or that
    other hosts   data alone       ─┘  the first one gives to all, as sums over the replicas of one strategy

Each host makes the same steps, and stops at the same ones to agree with the others on how to go on. A host that waits
for one that is gone is told so by TensorFlow, whose coordination service has them all tell that they live.
"""

from __future__ import annotations

import collections
import contextlib
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf

from shared.errors import UserError
from trainer.distributed.tf_config import Cluster
from trainer.platform.tf_errors import is_collective_error, is_out_of_memory

_GONE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.DeadlineExceededError)
_TASK = re.compile(r"/job:(chief|worker)/(?:replica:\d+/)?task:(\d+)")


class Hosts:
    """The processes that train together, one on each host; also the one that trains alone.

    What they do together each has to do at the same place of its work, or they wait for each other for ever.
    """

    def __init__(self, cluster: Cluster | None = None):
        """Waits until all of them are there; before anything else that has TensorFlow look for devices.

        Raises:
            UserError: they cannot be had, or have unequal devices.
        """
        self._cluster = cluster
        self.strategy: tf.distribute.Strategy | None = None
        self._sums: dict[tf.DType, Callable[[tf.Tensor], tf.Tensor]] = {}
        if cluster is not None:
            with self.translate_errors():
                self.strategy = _meet(cluster)

    def __str__(self) -> str:
        return str(self._cluster or "the only host")

    @property
    def count(self) -> int:
        return len(self._cluster.addresses) if self._cluster else 1

    @property
    def is_chief(self) -> bool:
        """Whether the run's folder is this one's; so it is where it is alone."""
        return self._cluster is None or self._cluster.is_chief

    @property
    def stop_point(self) -> str:
        """What a signal leads to, in words."""
        if self._cluster is None:
            return "after this step, with a checkpoint"
        return "with all hosts, after the next step that log_every divides, with a checkpoint"

    @contextlib.contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raises UserError in the place of what TensorFlow raises where another host is gone."""
        try:
            yield
        except tf.errors.OpError as error:
            if self._cluster is None or is_out_of_memory(error) or not _is_of_others(error):
                raise
            raise UserError(
                f"{self._cluster}: {_who_is_gone(error, cluster=self._cluster)}; it has told why, if it could; start "
                "the same command on all hosts again: it goes on from the last checkpoint"
            ) from error

    def gather(self, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """The same number of integers [n] from each host, by its number [hosts, n]."""
        own = np.asarray(numbers, np.int64)
        if self._cluster is None:
            return own[None]
        table = np.zeros((self.count, len(own)), np.int64)
        table[self._cluster.number] = own
        return self._summed(tf.constant(table)).numpy()

    def broadcast(self, numbers: Sequence[int]) -> list[int]:
        """The first host's integers."""
        return self.gather(numbers)[0].tolist()

    def broadcast_bytes(self, content: bytes) -> bytes:
        """The first host's content, whatever the others give."""
        (size,) = self.broadcast([len(content)])
        padded = np.zeros(size, np.int64)
        if self.is_chief:
            padded[:] = np.frombuffer(content, np.uint8)
        return self.gather(padded)[0].astype(np.uint8).tobytes()

    def broadcast_variables(self, variables: Iterable[keras.Variable]) -> None:
        """Give the variables of the other hosts the first one's values, one after another."""
        for variable in variables if self._cluster else ():
            value = tf.convert_to_tensor(variable.value)
            sent = value if value.dtype.is_floating else tf.cast(value, tf.int64)
            received = self._summed(sent if self.is_chief else tf.zeros_like(sent))
            if not self.is_chief:
                variable.assign(tf.cast(received, value.dtype))

    def sync_stop(self, *, asked: int | None, is_over: bool = False) -> tuple[int | None, bool]:
        """The number of a signal that any host was asked by to leave, if one was; whether the first says it is over."""
        found = self.gather([asked or 0, is_over])
        return int(found[:, 0].max()) or None, bool(found[0, 1])

    def check_equal(self, fingerprint: str, *, what: str) -> None:
        """Of something that each host has worked out for itself, in hexadecimal.

        Raises:
            UserError: on all hosts, where any has another than the first.
        """
        found = self.gather([int(fingerprint[place : place + 8], 16) for place in range(0, len(fingerprint), 8)])
        if others := np.flatnonzero((found != found[0]).any(1)).tolist():
            raise UserError(
                f"{self}: {what} is another on host {', '.join(map(str, others))} than on the first: another version "
                "of this program or of numpy; install the same ones on all hosts"
            )

    def barrier(self) -> None:
        """Go on when all of them have come here."""
        self.gather([0])

    def _summed(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of what the hosts give, all of one shape; one graph for each type serves all shapes."""
        if values.dtype not in self._sums:
            specs = [tf.TensorSpec([None], values.dtype)]
            self._sums[values.dtype] = tf.function(self._sum_over_replicas, autograph=False, input_signature=specs)
        with self.translate_errors():
            return tf.reshape(self._sums[values.dtype](tf.reshape(values, [-1])), values.shape)

    def _sum_over_replicas(self, values: tf.Tensor) -> tf.Tensor:
        """By the first replica of each host; the others have nothing to add."""
        assert self.strategy is not None
        replicas = self.strategy.num_replicas_in_sync // self.count

        def on_each() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = tf.equal(context.replica_id_in_sync_group % replicas, 0)
            own = tf.where(is_first, values, tf.zeros_like(values))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, own)

        return self.strategy.experimental_local_results(self.strategy.run(on_each))[0]


def _meet(cluster: Cluster) -> tf.distribute.Strategy:
    """The strategy of all hosts, once they have answered."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own would wait as well
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=_communication())
    except (tf.errors.UnknownError, tf.errors.InvalidArgumentError) as error:
        own = cluster.addresses[cluster.number]
        raise UserError(
            f"TF_CONFIG: {cluster} cannot listen at {own} ({error.message.splitlines()[0]}); wanted a free port there"
        ) from error
    except _GONE as error:
        raise UserError(
            f"{cluster}: not all of {', '.join(cluster.addresses)} came ({error.message.splitlines()[0]}); start the "
            "same command on all hosts"
        ) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # SIGTERM's is TensorFlow's own now, which does nothing
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    check_even(names, hosts=len(cluster.addresses))
    return strategy


def _communication() -> tf.distribute.experimental.CommunicationOptions:
    """NCCL where there are GPUs: left to itself TensorFlow sends their sums through the hosts' memory (RING)."""
    kinds = tf.distribute.experimental.CommunicationImplementation
    has_gpu = bool(tf.config.list_physical_devices("GPU"))
    return tf.distribute.experimental.CommunicationOptions(implementation=kinds.NCCL if has_gpu else kinds.AUTO)


def check_even(names: Iterable[str], *, hosts: int) -> None:
    """The GPUs of all hosts, by their full names.

    Raises:
        UserError: some hosts have more than others, which the strategy does not know to deal with.
    """
    counts = collections.Counter(_TASK.findall(name)[0] for name in names)
    if counts and (len(counts) < hosts or len(set(counts.values())) > 1):
        found = ", ".join(f"{number} on {kind} {task}" for (kind, task), number in sorted(counts.items()))
        raise UserError(
            f"the hosts have unequal numbers of GPUs ({found}; {hosts} hosts); wanted as many on each: "
            "CUDA_VISIBLE_DEVICES says which a host uses"
        )


def _is_of_others(error: tf.errors.OpError) -> bool:
    """Whether it tells of another host: collectives that wait for it are given up with an error of these kinds."""
    return isinstance(error, _GONE) or is_collective_error(error)


def _who_is_gone(error: tf.errors.OpError, *, cluster: Cluster) -> str:
    """What the error says of that, in words."""
    said = error.message[error.message.find("Collective ops is aborted") :]
    chiefs = len(cluster.addresses) - cluster.workers
    numbers = [int(task) + (chiefs if kind == "worker" else 0) for kind, task in _TASK.findall(said)]
    others = [number for number in numbers if number != cluster.number]
    return f"host {others[0]} ({cluster.addresses[others[0]]}) is gone" if others else "another host is gone"
