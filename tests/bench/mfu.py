"""Model FLOPs utilisation of training on a GPU, and the largest batch that fits.

    python -m tests.bench.mfu SIZE

Operations are counted by formula (trainer/tools/flops.py), those of a full batch, over the median time of its steps and
over the GPU's rate for dense bfloat16 products as its maker states it. `tests.bench.gpu` reads what is printed. Without
a GPU it says so, exit code 2.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from trainer.platform.tf_setup import start_tensorflow

if __name__ == "__main__":
    start_tensorflow(keep_programs=True)  # which it can only before TensorFlow is imported

import tensorflow as tf

from tests.bench.shapes import N_MELS, VOCABULARY, full_batch
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.data.bucket_types import Bucket
from trainer.distributed.device_memory import OutOfMemory, translate_oom
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.tools.flops import step_flops
from trainer.training.train_step import TrainStep

FRAMES, TOKENS = 800, 128  # 9.3 s at hop 256 and 22,050 Hz
FIRST_CLIPS, MOST_CLIPS = 8, 1024
STEPS = 10

# tera-operations a second in bfloat16, not sparse, by their data sheets; the first name that is part of the card's
PEAKS = {
    "H200": 989.0,
    "H100 PCIe": 756.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L40": 181.0,
    "L4": 121.0,
    "A10": 125.0,
}


class Use(NamedTuple):
    """The speed of a batch shape."""

    bucket: Bucket
    step_s: float
    flops_per_s: float

    def share_of(self, card: str) -> float | None:
        """The fraction of the GPU's peak rate; None if that rate is unknown."""
        peak = next((one for name, one in PEAKS.items() if name in card), None)
        return None if peak is None else self.flops_per_s / (1e12 * peak)


def main(size: str) -> None:
    """Measure, and print as JSON; TensorFlow has been started."""
    if not tf.config.list_physical_devices("GPU"):
        print("no GPU that TensorFlow sees: nothing is measured (`make bench-gpu GPU=1`?)", file=sys.stderr)
        sys.exit(2)
    print(json.dumps(measure_use(size)))


def read_uses(text: str) -> list[Use]:
    """Parse the printed JSON."""
    return [Use(Bucket(*bucket), step_s, flops_per_s) for bucket, step_s, flops_per_s in json.loads(text)]


def measure_use(size: str, *, most_clips: int = MOST_CLIPS) -> list[Use]:
    """Measure growing batches: double the clips until a batch does not fit, then bisect."""
    config = ModelConfig.model_validate({"size": size})
    model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=N_MELS, log_silence=-11.5)
    optimizer = AdamW(OptimizerConfig(), steps=1000, variables=model.trainable_variables)
    step = TrainStep(model, optimizer, losses=LossConfig(), seed=1)
    uses: list[Use] = []
    fitting, too_many, clips = 0, most_clips + 1, FIRST_CLIPS
    while fitting < clips < too_many:
        bucket = Bucket(clips, FRAMES, TOKENS)
        try:
            step_s = _step_s(step, bucket)
        except OutOfMemory:
            too_many = clips
        else:
            uses.append(Use(bucket, step_s, step_flops(config, bucket, n_mels=N_MELS) / step_s))
            fitting = clips
        clips = _next_clips(fitting, too_many)
    return uses


def _next_clips(fitting: int, too_many: int) -> int:
    """The number of clips to try next; `fitting` once an eighth more does not fit."""
    if 0 < 2 * fitting < too_many:
        return 2 * fitting
    return fitting if too_many - fitting <= max(1, fitting // 8) else (fitting + too_many) // 2


def _step_s(step: TrainStep, bucket: Bucket) -> float:
    """Median time of a step, after one that compiles."""
    batch, times_s = full_batch(bucket), []
    for _ in range(1 + STEPS):
        start_s = time.perf_counter()
        translate_oom(step, batch)["loss"].numpy()
        times_s.append(time.perf_counter() - start_s)
    return statistics.median(times_s[1:])


if __name__ == "__main__":
    main(sys.argv[1])
