"""Real training runs with a toy model: a linear map of the mel learns to remove noise.

Its step runs op by op and is not compiled, so that a run can be disturbed and restarted many times.

    python -m tests.trainer.toy

reads lines of JSON, the arguments of `myxtts-train train`, and runs each in a process forked before TensorFlow has any
thread, which saves the imports. It prints the process id, and later the exit code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.trainer import lean_tensorflow  # noqa: F401

# isort: split
import keras
import tensorflow as tf

from trainer import cli
from trainer.model.rng import RngStream
from trainer.training import components, validation

TERMS = ("mel", "kl", "flux", "stop", "guided_attention")


class Toy(keras.Model):
    """A matrix and a bias."""

    def __init__(self, n_mels: int):
        super().__init__(name="toy")
        self.matrix = self.add_weight(shape=[n_mels, n_mels], name="matrix")
        self.bias = self.add_weight(shape=[n_mels], name="bias")

    @property
    def decoder(self) -> Toy:
        return self

    def set_statistics(self, *, mean: list[float], std: list[float]) -> None:
        self.bias.assign(mean)

    def judge(self, batch: dict, noise: RngStream | None) -> dict:
        mel = tf.cast(batch["mel"], tf.float32) / 10.0
        heard = mel if noise is None else mel + noise.normal(tf.shape(mel))
        valid = tf.cast(tf.sequence_mask(batch["frames"], mel.shape[1]), tf.float32)[:, :, None]
        error = tf.reduce_sum(valid * tf.square(heard @ self.matrix + self.bias - mel)) / tf.reduce_sum(valid)
        return {"loss": error, "mel": error}


class TrainStep:
    """The toy's training step, with the real optimizer and noise."""

    is_updating, has_updated = False, True

    def __init__(self, model: Toy, optimizer: Any, *, seed: int, **_: object):
        self._model, self._optimizer, self._seed = model, optimizer, seed
        self._shapes = set[tuple[int, ...]]()

    @property
    def programs(self) -> int:
        """As many as a step that is compiled for each shape has."""
        return len(self._shapes)

    def __call__(self, batch: dict) -> dict:
        self._shapes.add(tuple(batch["mel"].shape))
        noise = RngStream(seed=self._seed, step=self._optimizer.iterations.value)
        with tf.GradientTape() as tape:
            losses = self._model.judge(batch, noise)
        gradients = tape.gradient(losses["loss"], [one.value for one in self._model.trainable_variables])
        counts = tf.cast(tf.stack([tf.reduce_sum(batch["frames"]), tf.size(batch["frames"], tf.int64)]), tf.float32)
        return {**losses, **self._optimizer.apply(gradients, loss=losses["loss"]), "counts": counts}


class EvalStep:
    """The toy's validation step."""

    programs = 0

    def __init__(self, model: Toy, **_: object):
        self._model = model

    def __call__(self, batch: dict) -> SimpleNamespace:
        clips, frames = batch["mel"].shape[:2]
        alignment = tf.zeros([clips, frames // 4, batch["tokens"].shape[1]])
        terms = {**dict.fromkeys(TERMS, tf.zeros([])), "mel": self._model.judge(batch, None)["mel"]}
        counts = dict.fromkeys(terms, tf.reduce_sum(batch["frames"]))
        return SimpleNamespace(
            terms=terms, counts=counts, decoded=SimpleNamespace(mel=batch["mel"], alignment=alignment)
        )


def put_in(put: Callable[[object, str, object], object], **others: object) -> None:
    """Install the toys, or the given substitutes, with `put`, such as `setattr`."""
    for module, name, toy in (
        (components, "build_model", lambda config, *, contract, vocabulary: Toy(contract.features.n_mels)),
        (components, "TrainStep", TrainStep),
        (validation, "EvalStep", EvalStep),
    ):
        put(module, name, others.get(name, toy))


def train(words: list[str]) -> None:
    """Train in this process, and exit."""
    put_in(setattr)
    sys.argv = ["myxtts-train", "train", *words]
    cli.main()
    sys.exit(0)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)  # the command's own output must not mix with the answers
            train(json.loads(line))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
