"""Run a step that really exceeds the process's memory, and the step after it; print the state of the weights as JSON.

    python -m tests.trainer.full_memory DEVICES [LARGE]

LARGE is the number of devices, counted from the last, that get the large batch; by default all of them.

setrlimit bounds the address space, so that TensorFlow's CPU allocator fails like that of a full GPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import resource
import sys
from pathlib import Path

from tests.trainer import lean_tensorflow  # noqa: F401

# isort: split
import tensorflow as tf

from tests.bench.shapes import N_MELS, VOCABULARY, full_batch
from trainer.checkpoint.checkpoint import NamedVariables, copy_to_host, named_variables
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.data.bucket_types import Bucket
from trainer.distributed.device_memory import OutOfMemory, translate_oom
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.training.train_step import Batch, TrainStep

Strategy = tf.distribute.Strategy

SMALL, LARGE = Bucket(2, 64, 8), Bucket(2_000, 512, 8)
ROOM_BYTES = 3 << 30  # enough to compile a program, and a small part of what the large one asks for


def main(devices: int, large_ones: int) -> None:
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
    names = [f"/CPU:{number}" for number in range(devices)]
    strategy = tf.distribute.MirroredStrategy(names) if devices > 1 else None
    small, large = (dealt(one, strategy, large=large_ones) for one in ([SMALL, SMALL], [SMALL, LARGE]))
    step, state = make_step(strategy)
    begin = copy_to_host(state)
    states = {"undisturbed": after(2, step, small, state=state)}
    for name, variable in state.items():
        variable.assign(begin[name])
    states["before"] = after(1, step, small, state=state)
    told = fail(step, large)
    # whoever asks for memory now may be given any that was freed
    others = [tf.fill(one.shape, tf.cast(9, one.dtype)) for _ in range(4) for one in state.values()]
    states["after"] = digest(state)
    states["next"] = after(1, step, small, state=state)
    del others
    print(json.dumps({"told": told, **states}))


def dealt(buckets: list[Bucket], strategy: Strategy | None, *, large: int) -> Batch:
    """The second bucket for as many of the devices, the first for the others."""
    first, second = map(full_batch, buckets)
    if strategy is None:
        return second
    small = strategy.num_replicas_in_sync - large
    return strategy.experimental_distribute_values_from_function(
        lambda context: first if context.replica_id_in_sync_group < small else second
    )


def make_step(strategy: Strategy | None) -> tuple[TrainStep, NamedVariables]:
    """A step of a fresh model, and what it changes."""
    config = ModelConfig.model_validate({"size": "pico"})
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=N_MELS, log_silence=-11.5)
        optimizer = AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables)
    step = TrainStep(model, optimizer, losses=LossConfig(), seed=1, strategy=strategy)
    return step, named_variables(model, optimizer)


def after(steps: int, step: TrainStep, batch: Batch, *, state: NamedVariables) -> str:
    """What becomes of the state."""
    for _ in range(steps):
        step(batch)["loss"].numpy()
    return digest(state)


def fail(step: TrainStep, batch: Batch) -> str:
    """The shape that is told not to fit."""
    limit_address_space(ROOM_BYTES)
    try:
        translate_oom(step, batch)
    except OutOfMemory as event:
        return str(event)
    finally:
        limit_address_space(None)
    return ""


def digest(state: NamedVariables) -> str:
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
    main(int(sys.argv[1]), int(sys.argv[-1]))
