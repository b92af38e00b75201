"""Cost of a batch shape: its compilation, and the time of a step by frames and by tokens.

    python -m tests.bench.shapes [SIZE]

Both programs of each shape, training and evaluation, are compiled and timed; seconds of a step are fitted by
a + b · frames + c · tokens over the padded shapes, and c / b is what a token costs in frames.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np
import tensorflow as tf

from tests.bench.summary import add_row
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.data.bucket_types import Bucket
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.training.train_step import EvalStep, TrainStep

CLIPS = 4
SHAPES = ((256, 16), (512, 16), (256, 144), (512, 144))  # frames, tokens
REPEATS = 3
N_MELS = 80
VOCABULARY = 500


def main(size: str) -> None:
    """Print the costs of a size on this machine."""
    precision = "bfloat16" if tf.config.list_physical_devices("GPU") else "float32"
    model = XTTS(
        ModelConfig.model_validate({"size": size, "precision": precision}),
        vocabulary_size=VOCABULARY,
        n_mels=N_MELS,
        log_silence=-11.5,
    )
    optimizer = AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables)
    train = TrainStep(model, optimizer, losses=LossConfig(), seed=1)
    evaluate = EvalStep(model, losses=LossConfig(), seed=1)
    batches = [full_batch(Bucket(CLIPS, frames, tokens)) for frames, tokens in SHAPES]
    first = [[_timed(train, batch) for batch in batches], [_timed(evaluate, batch) for batch in batches]]
    steps = [[_timed(train, batch).elapsed_s for batch in batches] for _ in range(REPEATS)]
    medians_s = [statistics.median(column) for column in zip(*steps, strict=True)]
    sizes = np.array([(1.0, CLIPS * frames, CLIPS * tokens) for frames, tokens in SHAPES])
    start_s, frame_s, token_s = np.linalg.lstsq(sizes, np.array(medians_s), rcond=None)[0]
    print(f"{size}, {precision}, {CLIPS} clips a batch of {SHAPES}")
    for name, calls in zip(("training", "evaluation"), first, strict=True):
        elapsed_s, cpu_s = (_words(list(column)) for column in zip(*calls, strict=True))
        print(f"first calls of {name}, with compilation: {elapsed_s} s, of CPU time {cpu_s} s")
    print(f"a step: {_words(medians_s)} s")
    print(f"{start_s:.3f} s + {1000 * frame_s:.4f} s per 1,000 frames; a token costs {token_s / frame_s:.2f} frames")
    add_row("shapes", f"step of {size}, {precision}", measured=f"{1000 * frame_s:.4f} s per 1,000 frames")


def full_batch(bucket: Bucket) -> dict[str, tf.Tensor]:
    """A batch without padding."""
    random, (clips, frames, tokens) = np.random.default_rng(1), bucket
    return {
        "mel": tf.constant(random.normal(-5.0, 2.0, (clips, frames, N_MELS)).astype(np.float16)),
        "frames": tf.fill([clips], frames),
        "tokens": tf.constant(random.integers(1, VOCABULARY, (clips, tokens)).astype(np.int32)),
        "token_counts": tf.fill([clips], tokens),
    }


class Timed(NamedTuple):
    elapsed_s: float
    cpu_s: float


def _timed(step: TrainStep | EvalStep, batch: dict[str, tf.Tensor]) -> Timed:
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    terms = step(batch) if isinstance(step, TrainStep) else step(batch).terms
    float(terms["mel"])  # waits for the device
    return Timed(time.perf_counter() - started_s, time.process_time() - started_cpu_s)


def _words(seconds: list[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in seconds)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pico")
