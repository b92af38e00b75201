"""A step for which the process' memory really does not suffice, and the step after it; JSON of what became of weights.

    python -m tests.trainer.cramped

The address space is limited (setrlimit), which TensorFlow's allocator on the CPU runs into as it does into a GPU's end.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # compiled in haste

import keras
import tensorflow as tf

from tests.bench.shapes import N_MELS, VOCABULARY, full_batch
from trainer.checkpoints import State, named_state
from trainer.input.staircase import Bucket
from trainer.losses import LossConfig
from trainer.memory import OutOfMemory, within_memory
from trainer.model.xtts import XTTS, ModelConfig
from trainer.optimization.adamw import AdamW
from trainer.optimization.config import OptimizerConfig
from trainer.step import TrainStep

SMALL, LARGE = Bucket(2, 64, 8), Bucket(2_000, 512, 8)
ROOM_BYTES = 3 << 30  # enough to compile a program, and a small part of what the large one asks for


def main() -> None:
    step, state = make_step()
    states = {"undisturbed": twice(step, state)}
    step, state = make_step()
    step(full_batch(SMALL))["loss"].numpy()
    states["before"] = digest(state)
    told = fail(step)
    # whoever asks for memory now may be given any that was freed
    others = [tf.fill(one.shape, tf.cast(9, one.dtype)) for _ in range(4) for one in state.values()]
    states["after"] = digest(state)
    step(full_batch(SMALL))["loss"].numpy()
    states["next"] = digest(state)
    del others
    print(json.dumps({"told": told, **states}))


def make_step() -> tuple[TrainStep, State]:
    """A step of a fresh model, always the same, and what it changes."""
    keras.utils.set_random_seed(1)
    config = ModelConfig.model_validate({"size": "pico"})
    model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=N_MELS, log_silence=-11.5)
    optimizer = AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables)
    return TrainStep(model, optimizer, losses=LossConfig(), seed=1), named_state(model, optimizer)


def twice(step: TrainStep, state: State) -> str:
    """What becomes of the state in two steps."""
    for _ in range(2):
        step(full_batch(SMALL))["loss"].numpy()
    return digest(state)


def fail(step: TrainStep) -> str:
    """The shape that is told not to fit."""
    batch = full_batch(LARGE)
    limit_address_space(ROOM_BYTES)
    try:
        within_memory(step, batch)
    except OutOfMemory as event:
        return str(event)
    finally:
        limit_address_space(None)
    return ""


def digest(state: State) -> str:
    """Of all values."""
    summed = hashlib.sha256()
    for variable in state.values():
        summed.update(variable.numpy().tobytes())
    return summed.hexdigest()


def limit_address_space(room_bytes: int | None) -> None:
    """To so much more than what is taken; None: to nothing."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    taken = pages * resource.getpagesize()
    limit = resource.RLIM_INFINITY if room_bytes is None else taken + room_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
