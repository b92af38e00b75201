"""Collective operations between the hosts of a run, and error messages for hosts that are gone.

    chief      run's folder · validation ─┐  gather, broadcast and barrier, each as an all-reduce sum over the
    workers    dataset only              ─┘  replicas of one MultiWorkerMirroredStrategy

All hosts run the same steps, and pause after the same steps to agree on how to continue. If a host is gone, the
coordination service of TensorFlow notices missing heartbeats and fails the collective operations of the others.
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
    """The processes that train together, one per host; a single process is a group of one.

    Every host must call the collective methods in the same order: otherwise the hosts wait for each other forever.
    """

    def __init__(self, cluster: Cluster | None = None):
        """Wait until all hosts have joined; must come before anything that initializes TensorFlow's devices.

        Raises:
            UserError: a host cannot be reached, or the hosts have unequal numbers of GPUs.
        """
        self._cluster = cluster
        self.strategy: tf.distribute.Strategy | None = None
        self._sum_functions: dict[tf.DType, Callable[[tf.Tensor], tf.Tensor]] = {}
        if cluster is not None:
            with self.translate_errors():
                self.strategy = _join(cluster)

    def __str__(self) -> str:
        return str(self._cluster or "single host")

    @property
    def count(self) -> int:
        return len(self._cluster.addresses) if self._cluster else 1

    @property
    def is_chief(self) -> bool:
        """True on the host that owns the run's folder; a single host is the chief."""
        return self._cluster is None or self._cluster.is_chief

    @property
    def stop_point(self) -> str:
        """When a signal stops the run, for the log."""
        if self._cluster is None:
            return "after this step, with a checkpoint"
        return "all hosts after the next step that log_every divides, with a checkpoint"

    @contextlib.contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Context manager that turns TensorFlow's errors about a lost host into UserError."""
        try:
            yield
        except tf.errors.OpError as error:
            if self._cluster is None or is_out_of_memory(error) or not _is_host_loss(error):
                raise
            raise UserError(
                f"{self._cluster}: {_describe_loss(error, cluster=self._cluster)}; see that host's output for the "
                "reason; start the same command on all hosts again: it resumes from the last checkpoint"
            ) from error

    def gather(self, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """All-gather: return the integers [n] of every host as [hosts, n]."""
        own = np.asarray(numbers, np.int64)
        if self._cluster is None:
            return own[None]
        table = np.zeros((self.count, len(own)), np.int64)
        table[self._cluster.number] = own
        return self._all_reduce(tf.constant(table)).numpy()

    def broadcast(self, numbers: Sequence[int]) -> list[int]:
        """Return the chief's integers."""
        return self.gather(numbers)[0].tolist()

    def broadcast_bytes(self, content: bytes) -> bytes:
        """Return the chief's bytes; those of the other hosts are ignored."""
        (size,) = self.broadcast([len(content)])
        padded = np.zeros(size, np.int64)
        if self.is_chief:
            padded[:] = np.frombuffer(content, np.uint8)
        return self.gather(padded)[0].astype(np.uint8).tobytes()

    def broadcast_variables(self, variables: Iterable[keras.Variable]) -> None:
        """Assign the chief's values to the variables of all hosts, one after another."""
        for variable in variables if self._cluster else ():
            value = tf.convert_to_tensor(variable.value)
            sent = value if value.dtype.is_floating else tf.cast(value, tf.int64)
            received = self._all_reduce(sent if self.is_chief else tf.zeros_like(sent))
            if not self.is_chief:
                variable.assign(tf.cast(received, value.dtype))

    def sync_stop(self, *, received: int | None, is_over: bool = False) -> tuple[int | None, bool]:
        """Return the number of a signal that any host received, or None, and whether the chief ended the run."""
        found = self.gather([received or 0, is_over])
        return int(found[:, 0].max()) or None, bool(found[0, 1])

    def check_equal(self, fingerprint: str, *, what: str) -> None:
        """Check that all hosts computed the same hexadecimal fingerprint.

        Args:
            what: the thing that the fingerprint identifies, for the error message.

        Raises:
            UserError: on every host, if any host differs from the chief.
        """
        found = self.gather([int(fingerprint[place : place + 8], 16) for place in range(0, len(fingerprint), 8)])
        if others := np.flatnonzero((found != found[0]).any(1)).tolist():
            raise UserError(
                f"{self}: {what} differs between host {', '.join(map(str, others))} and the chief: another version "
                "of this program or of numpy; install the same versions on all hosts"
            )

    def barrier(self) -> None:
        """Wait until all hosts have called this method."""
        self.gather([0])

    def _all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """Sum tensors of one shape over the hosts; one graph per dtype serves all shapes."""
        if values.dtype not in self._sum_functions:
            specs = [tf.TensorSpec([None], values.dtype)]
            self._sum_functions[values.dtype] = tf.function(
                self._sum_over_replicas, autograph=False, input_signature=specs
            )
        with self.translate_errors():
            return tf.reshape(self._sum_functions[values.dtype](tf.reshape(values, [-1])), values.shape)

    def _sum_over_replicas(self, values: tf.Tensor) -> tf.Tensor:
        """Sum over the first replica of each host; the other replicas contribute zeros."""
        assert self.strategy is not None
        replicas = self.strategy.num_replicas_in_sync // self.count

        def on_each() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = tf.equal(context.replica_id_in_sync_group % replicas, 0)
            own = tf.where(is_first, values, tf.zeros_like(values))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, own)

        return self.strategy.experimental_local_results(self.strategy.run(on_each))[0]


def _join(cluster: Cluster) -> tf.distribute.Strategy:
    """Return the strategy of all hosts, once all have joined."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would wait for the main thread
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=_communication())
    except (tf.errors.UnknownError, tf.errors.InvalidArgumentError) as error:
        own = cluster.addresses[cluster.number]
        raise UserError(
            f"TF_CONFIG: {cluster} cannot listen at {own} ({error.message.splitlines()[0]}); expected a free port"
        ) from error
    except _GONE as error:
        raise UserError(
            f"{cluster}: not all of {', '.join(cluster.addresses)} came ({error.message.splitlines()[0]}); start the "
            "same command on all hosts"
        ) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # TensorFlow has replaced SIGTERM's with one that does nothing
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    check_equal_gpus(names, hosts=len(cluster.addresses))
    return strategy


def _communication() -> tf.distribute.experimental.CommunicationOptions:
    """Choose NCCL if there are GPUs: TensorFlow's default (RING) sends sums through host memory."""
    kinds = tf.distribute.experimental.CommunicationImplementation
    has_gpu = bool(tf.config.list_physical_devices("GPU"))
    return tf.distribute.experimental.CommunicationOptions(implementation=kinds.NCCL if has_gpu else kinds.AUTO)


def check_equal_gpus(names: Iterable[str], *, hosts: int) -> None:
    """Check that every host has the same number of GPUs, which MultiWorkerMirroredStrategy requires.

    Args:
        names: full device names of the GPUs of all hosts.

    Raises:
        UserError: the numbers differ.
    """
    counts = collections.Counter(_TASK.findall(name)[0] for name in names)
    if counts and (len(counts) < hosts or len(set(counts.values())) > 1):
        found = ", ".join(f"{number} on {kind} {task}" for (kind, task), number in sorted(counts.items()))
        raise UserError(
            f"the hosts have unequal numbers of GPUs ({found}; {hosts} hosts); expected equal numbers; "
            "select GPUs with CUDA_VISIBLE_DEVICES on each host"
        )


def _is_host_loss(error: tf.errors.OpError) -> bool:
    """Return True for the kinds of error with which collective operations fail if another host is gone."""
    return isinstance(error, _GONE) or is_collective_error(error)


def _describe_loss(error: tf.errors.OpError, *, cluster: Cluster) -> str:
    """Describe which host is gone, as far as the error tells."""
    message = error.message[error.message.find("Collective ops is aborted") :]
    chiefs = len(cluster.addresses) - cluster.workers
    numbers = [int(task) + (chiefs if kind == "worker" else 0) for kind, task in _TASK.findall(message)]
    others = [number for number in numbers if number != cluster.number]
    return f"host {others[0]} ({cluster.addresses[others[0]]}) is gone" if others else "another host is gone"
