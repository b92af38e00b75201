"""Trains a small model with each combination of the options of a training step, and prints the results.

    python -m tests.trainer.step_options pairs|rest|nano

It prints a line of JSON for each combination as soon as the combination is done. The model of `pairs` and `rest` has
every part of `nano`, with one narrow layer of each.

pairs    combinations in which any two choices meet
rest     all other combinations
nano     combinations of `nano` itself in which any two choices meet, compiled as for a user

The noise is the same in every combination and at every step. So all combinations should give the losses and gradients
of the plainest combination, which is float32 and nothing else.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.trainer.processes import FAST_COMPILATION, begin, end, skip_graph_optimizer, xla_flags
from trainer.platform.tf_import import import_tensorflow

if TYPE_CHECKING:
    import numpy as np
    import tensorflow as tf

    from trainer.model.rng import RngStream
    from trainer.model.xtts import XTTS

TIMEOUT_S = 3600
UPDATES = 3
MAX_STEPS = 12  # float16's scale of the loss may be too large at first, and each halving costs a step


class Options(NamedTuple):
    """How a step is made."""

    style_tokens: int = 0
    precision: str = "float32"
    microbatches: int = 1
    rematerialise: bool = False
    xla: bool = False
    adaptive: bool = False
    rotary: bool = False

    @property
    def witness(self) -> Options:
        """The plainest combination with the same losses: the same network and the same weights of its loss terms."""
        return Options(self.style_tokens, adaptive=self.adaptive, rotary=self.rotary)

    def __str__(self) -> str:
        words = [self.precision, "xla" if self.xla else "graph"]
        words += ["in parts"] * (self.microbatches > 1) + ["rematerialised"] * self.rematerialise
        words += ["style tokens"] * (self.style_tokens > 0) + ["adaptive"] * self.adaptive
        return " ".join([*words, *["rotary"] * self.rotary])


ALL = [
    Options(*one)
    for one in itertools.product((0, 10), ("float32", "bfloat16", "float16"), (1, 2), (False, True), (False, True))
]
EVERY_PAIR = [  # the networks with style tokens have rotary positions too
    Options(),
    Options(10, rotary=True),
    Options(10, "float32", 2, True, True, rotary=True),
    Options(10, "bfloat16", 1, True, False, rotary=True),
    Options(0, "bfloat16", 2, False, True),
    Options(0, "float16", 1, True, True),
    Options(10, "float16", 2, False, False, rotary=True),
]
ADAPTIVE = [Options(adaptive=True), Options(0, "float32", 1, True, True, True)]
ADAPTIVE_PRECISIONS = [
    Options(adaptive=True),
    *(Options(0, one, 1, True, True, True) for one in ("float32", "bfloat16", "float16")),
]
REST = [options for options in ALL if options not in EVERY_PAIR]
NANO = EVERY_PAIR + [Options(10, precision, 2, True, True, rotary=True) for precision in ("bfloat16", "float16")]
SETS = {
    "pairs": EVERY_PAIR + ADAPTIVE,
    "rest": [
        Options(),  # what others are compared with
        *REST,
        *ADAPTIVE_PRECISIONS,
    ],
    "nano": NANO,
}


def main(name: str) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import_tensorflow()
    size = "nano" if name == "nano" else None
    if size is None:
        # the program computes the same, and is compiled in a fraction of the time
        os.environ["XLA_FLAGS"] = xla_flags(FAST_COMPILATION)
        skip_graph_optimizer()
    gradients: dict[Options, list[np.ndarray]] = {}
    for options in SETS[name]:
        found, gradients[options] = train(options, size=size)
        distances = compare(gradients[options], gradients[options.witness])
        print(json.dumps({"options": options, **found, **distances}), flush=True)


def train_set(name: str) -> dict[Options, dict]:
    """The results of a set, from a process of its own."""
    environment = {"XLA_FLAGS": xla_flags()} if name == "nano" else None
    words = [sys.executable, "-m", "tests.trainer.step_options", name]
    ended = end(begin(words, environment=environment), within_s=TIMEOUT_S)
    assert ended.code == 0, ended.err[-3000:]
    rows = [json.loads(line) for line in ended.out.splitlines()]
    return {Options(*row["options"]): row for row in rows}


def train_pairs(_: Path) -> dict[Options, dict]:
    return train_set("pairs")


def same_at_every_step(*, seed: int, step: tf.Tensor, place: object = 0) -> RngStream:
    """In the place of RngStream: every row draws the same at every step, by a seed that XLA knows when it compiles."""
    import tensorflow as tf

    from trainer.model.rng import RngStream

    return RngStream(seed=seed, step=tf.constant(1, tf.int64), rows_alike=True)


def train(options: Options, *, size: str | None) -> tuple[dict, list[np.ndarray]]:
    """Results of some steps on one batch, and the gradients of the first update."""
    import numpy as np

    from tests.trainer.models import random_batch
    from trainer.config.loss_config import LossConfig
    from trainer.config.optim_config import OptimizerConfig
    from trainer.optim.adamw import AdamW
    from trainer.training import train_step as steps

    steps.RngStream = same_at_every_step
    model = make(options, size=size)
    # updates that are due to gradients alone, and gradients that stand in the moments as they are
    config = OptimizerConfig(learning_rate=2e-3, warmup_steps=0, weight_decay=0, clip_norm=1e9)
    optimizer = AdamW(
        config, steps=10**6, variables=model.trainable_variables, scales_loss=options.precision == "float16"
    )
    losses_of = LossConfig(adaptive=options.adaptive)
    step = steps.TrainStep(model, optimizer, losses=losses_of, seed=1, parts=options.microbatches, xla=options.xla)
    # the last clip is too short for a reference of its voice: the learned one is used
    batch = random_batch(frames=[24, 17, 9, 1], token_counts=[10, 4, 7, 2], width=24, tokens=10)
    before = [variable.numpy() for variable in model.trainable_variables]
    losses, gradients = [], []
    for _ in range(MAX_STEPS):
        values = {name: float(value) for name, value in step(batch).items() if name != "counts"}
        if not values["applied"]:
            continue
        losses.append(values)
        if len(losses) == 1:
            momenta = (one.numpy() for name, one in optimizer.state().items() if name.endswith("/momentum"))
            gradients = [momentum / (1.0 - config.beta_1) for momentum in momenta]
        if len(losses) == UPDATES:
            break
    variables, program = model.trainable_variables, step._program.get_concrete_function(batch)
    return {
        "losses": losses,
        "skipped": int(optimizer.state()["skipped"].value),
        "programs": step.programs,
        "is_compiled": program.function_def.attr["_XlaMustCompile"].b,
        "operations": len(program.function_def.node_def),
        "without_gradient": [
            one.path for one, gradient in zip(variables, gradients, strict=True) if not gradient.any()
        ],
        "unmoved": [one.path for one, old in zip(variables, before, strict=True) if np.array_equal(one.numpy(), old)],
        "not_finite": [one.path for one in variables if not np.isfinite(one.numpy()).all()],
    }, gradients


def make(options: Options, *, size: str | None) -> XTTS:
    """The model of a combination. Its weights are float32 and the same for all combinations."""
    from tests.trainer.models import perturbed_narrow, perturbed_pico

    settings = {name: getattr(options, name) for name in ("precision", "rematerialise", "style_tokens")}
    settings["positions"] = "rotary" if options.rotary else "sinusoidal"
    if size is not None:
        return perturbed_pico(4, size=size, reference_dropout=0.0, **settings)
    return perturbed_narrow(reference_dropout=0.0, **settings)


def compare(gradients: list[np.ndarray], expected: list[np.ndarray]) -> dict[str, float]:
    """Distances of gradients in shares of their size: of all together, and of the variable that has the largest."""
    import numpy as np

    sizes, distances = (
        np.array([np.linalg.norm(one.astype(np.float64)) for one in several])
        for several in (expected, [one - other for one, other in zip(gradients, expected, strict=True)])
    )
    return {
        "gradient_distance": float(np.linalg.norm(distances) / np.linalg.norm(sizes)),
        "largest_gradient_distance": float((distances / sizes).max()),
    }


if __name__ == "__main__":
    main(sys.argv[1])
