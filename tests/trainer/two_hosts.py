"""Run training on two hosts, simulated by two processes on loopback.

    python -m tests.trainer.two_hosts

reads lines of JSON: the arguments of `myxtts-train train`, further arguments for each host, the network (pico, the
real model, or a toy, which compiles in a second), and how the second host is disturbed at which steps, or null: by a
signal that it sends itself, or by "NaN" mels. For each line it prints the exit codes and the output of both hosts. Each
host is forked before TensorFlow has any thread, which saves the imports. RngStream is equal on all hosts.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO

from tests.trainer import lean_tensorflow  # noqa: F401

# isort: split
import tensorflow as tf

from tests.trainer import toy
from tests.trainer.models import NARROW, same_for_all
from tests.trainer.processes import skip_graph_optimizer
from trainer import cli
from trainer.config.model_sizes import SIZES
from trainer.model.rng import RngStream
from trainer.training import components
from trainer.training import train_step as step

TIMEOUT_S = 600


class ToyStep(step.TrainStep):
    """The toy's training step, distributed to replicas like the real one."""

    def _prepare(self, batch: Any, replica: Any) -> Any:
        frames = tf.cast(tf.reduce_sum(batch["frames"]), tf.float32)
        clips = tf.math.count_nonzero(batch["frames"], dtype=tf.float32)
        return batch, {"mel": frames}, tf.stack([frames, clips])

    def _differentiate(self, inputs: Any, counts: Any, replica: Any) -> Any:
        noise = RngStream(seed=self._seed, step=self._optimizer.iterations.value, rows_alike=True)
        own = tf.cast(tf.reduce_sum(inputs["frames"]), tf.float32) / counts["mel"]
        with tf.GradientTape() as tape:
            losses = {name: own * loss for name, loss in self._model.judge(inputs, noise).items()}
        return tape.gradient(losses["loss"], [one.value for one in self._model.trainable_variables]), losses


def put_in(network: str) -> None:
    """Install the network to train in this process."""
    if network == "toy":
        toy.put_in(setattr, TrainStep=ToyStep)
    else:
        SIZES["pico"] = NARROW
        step.RngStream = same_for_all


def disturbed(kind: type, how: str, *, at: Sequence[int]) -> type:
    """Return a step class that disturbs the updates of these numbers, each once."""

    ahead = set(at)

    class Disturbed(kind):  # type: ignore[misc]
        def __call__(self, batch: Any) -> Any:
            number = int(self._optimizer.iterations.numpy()) + 1
            is_due = number in ahead
            ahead.discard(number)
            if is_due and how == "NaN":
                batch = {**batch, "mel": self._poisoned(batch["mel"])}
            values = super().__call__(batch)
            if is_due and how != "NaN":
                os.kill(os.getpid(), signal.Signals[how])
            return values

        def _poisoned(self, mel: Any) -> Any:
            if self._strategy is None:
                return mel * float("nan")
            return self._strategy.experimental_distribute_values_from_function(lambda _: mel.values[0] * float("nan"))

    return Disturbed


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def host(number: int, *, workers: Sequence[str], asked: dict, said: BinaryIO) -> None:
    """Run one host in this process, which ends even if it hangs."""
    signal.alarm(TIMEOUT_S)
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    task = {"type": "worker", "index": number}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": list(workers)}, "task": task})
    skip_graph_optimizer()
    put_in(asked["network"])
    if asked["how"] and number == 1:
        components.TrainStep = disturbed(components.TrainStep, asked["how"], at=asked["at"])
    sys.argv = ["myxtts-train", "train", *asked["words"], *asked["of_each"][number]]
    cli.main()
    sys.exit(0)


def train(asked: dict) -> dict:
    """Train on both hosts until they end."""
    workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        children = []
        for number, said in enumerate((first, second)):
            child = os.fork()
            if child == 0:
                host(number, workers=workers, asked=asked, said=said)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        first.seek(0)
        second.seek(0)
        return {"codes": codes, "said": [first.read().decode(), second.read().decode()]}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(train(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
