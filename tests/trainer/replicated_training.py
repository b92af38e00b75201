"""Train the smallest model on one device and on two with the same batches, and print losses and weights.

    python -m tests.trainer.replicated_training [VARIANT…]

The variants are "" (a graph in float32), "float16" and "bfloat16" (a graph in half precision), "compiled" (by XLA,
which draws other random numbers; on two devices with two micro-batches and rematerialisation), "compiled float16".
It prints a JSON object: for each variant the losses of each step, and the final weights.
"""

from __future__ import annotations

import json
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from tests.trainer.processes import FAST_COMPILATION, skip_graph_optimizer, xla_flags
from trainer.platform.tf_import import import_tensorflow

os.environ["XLA_FLAGS"] = xla_flags(FAST_COMPILATION)

STEPS = 4
DEVICES = 2
VARIANTS: dict[str, tuple[dict, dict]] = {  # arguments of the training on one device, and on two
    "": ({}, {}),
    "float16": ({"precision": "float16"},) * 2,
    "bfloat16": ({"precision": "bfloat16"},) * 2,
    "compiled": ({"xla": True}, {"xla": True, "parts": 2, "rematerialise": True}),
    "compiled float16": (
        {"xla": True, "precision": "float16"},
        {"xla": True, "precision": "float16", "parts": 2, "rematerialise": True},
    ),
}
FACTORS = {
    0: 2.0**9,
    1: 2.0**-8,
}  # by which the loss scale of 2^15 is changed before a step: at 2^24 gradients run over


def main() -> None:
    import_tensorflow()
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * DEVICES)

    from tests.trainer.models import same_for_all
    from trainer.training import train_step as steps

    skip_graph_optimizer()
    steps.RngStream = same_for_all
    strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
    found = {}
    for variant in sys.argv[1:]:
        alone, shared = VARIANTS[variant]
        found[f"one {variant}".strip()] = train(None, **alone)
        found[f"two {variant}".strip()] = train(strategy, **shared)
    json.dump(found, sys.stdout)


def train(
    strategy, *, xla: bool = False, parts: int = 1, rematerialise: bool = False, precision: str = "float32"
) -> dict:
    import numpy as np
    import tensorflow as tf

    from tests.trainer.models import perturbed_narrow
    from trainer.config.loss_config import LossConfig
    from trainer.config.optim_config import OptimizerConfig
    from trainer.optim.adamw import AdamW
    from trainer.training.train_step import TrainStep

    with strategy.scope() if strategy else tf.device("/CPU:0"):
        model = perturbed_narrow(rematerialise=rematerialise, precision=precision)
        config = OptimizerConfig(learning_rate=3e-3, warmup_steps=0, ema_decay=0.9)
        optimizer = AdamW(config, steps=100, variables=model.trainable_variables, scales_loss=precision == "float16")
    step = TrainStep(model, optimizer, losses=LossConfig(), seed=1, parts=parts, strategy=strategy, xla=xla)
    values = []
    for number in range(STEPS):
        if optimizer.loss_scale:
            factor = optimizer.loss_scale.factor
            factor.assign(factor * FACTORS.get(number, 1.0))
        figures = step(dealt(batch(number), strategy))
        values.append({name: value.numpy().tolist() for name, value in figures.items()})
    kept = {**{one.path: one for one in model.variables}, **optimizer.state()}
    copies = [
        [np.asarray(copy).tobytes() for copy in strategy.experimental_local_results(one.value)]
        for one in kept.values()
        if strategy
    ]
    return {
        "values": values,
        "programs": step.programs,
        "is_compiled": is_compiled(step, dealt(batch(0), strategy)),
        "sums": {name: float(np.abs(one.numpy().astype(np.float64)).sum()) for name, one in kept.items()},
        "copies differ": sum(len(set(one)) > 1 for one in copies),
        "copies": sum(map(len, copies)),
    }


def is_compiled(step, given: dict) -> dict[str, bool]:
    """Whether XLA must compile them, of the functions that a step is made of; of several devices, on all of them."""
    program = step._program.get_concrete_function(given)
    if step._strategy is None:
        *gradients_and_losses, _ = program.structured_outputs
        made = {"program": program, "update": step._update.get_concrete_function(*gradients_and_losses)}
        return {name: one.function_def.attr["_XlaMustCompile"].b for name, one in made.items()}
    found: dict[str, list[bool]] = {}
    for one in program.graph.as_graph_def().library.function:
        if match := re.fullmatch(r"__inference__(prepare|differentiate|update)_\d+", one.signature.name):
            found.setdefault(match[1], []).append(one.attr["_XlaMustCompile"].b)
    return {name: len(each) == DEVICES and all(each) for name, each in found.items()}


def batch(number: int) -> dict:
    """Five clips of unequal lengths; the fourth batch has a value that is no number, on the second replica."""
    import numpy as np
    import tensorflow as tf

    from tests.trainer.models import random_batch

    made = random_batch(frames=[24, 17, 9, 24, 12], token_counts=[10, 4, 7, 8, 3], width=24, tokens=10, seed=number)
    if number == STEPS - 1:
        mel = made["mel"].numpy()
        mel[1, 3, 2] = np.nan
        made["mel"] = tf.constant(mel)
    return made


def dealt(whole: dict, strategy):
    """Row i to replica i mod 2, as the stream deals; the second gets an empty row."""
    import tensorflow as tf

    if strategy is None:
        return whole

    def value(context: tf.distribute.ReplicaContext) -> dict:
        number, count = context.replica_id_in_sync_group, context.num_replicas_in_sync
        rows = {name: one[number::count] for name, one in whole.items()}
        missing = -(-len(whole["frames"]) // count) - len(rows["frames"])
        return {name: tf.pad(one, [[0, missing], *[[0, 0]] * (len(one.shape) - 1)]) for name, one in rows.items()}

    return strategy.experimental_distribute_values_from_function(value)


if __name__ == "__main__":
    main()
