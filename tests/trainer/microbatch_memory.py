"""Compile a step of the smallest model with and without micro-batches, and print the memory that each program needs.

    python -m tests.trainer.microbatch_memory FOLDER

It prints a JSON object: the bytes of the program's buffers for each number of micro-batches, from XLA's report.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from tests.trainer.processes import FAST_COMPILATION, xla_flags
from trainer.platform.tf_import import import_tensorflow

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

CLIPS, FRAMES, TOKENS = 16, 256, 40
PARTS = (1, 4)
REPORTS = "*on_one*memory-usage-report.txt"


def main(folder: Path) -> None:
    json.dump({parts: buffers_bytes(parts, folder=folder) for parts in PARTS}, sys.stdout)


def buffers_bytes(parts: int, *, folder: Path) -> int:
    import_tensorflow()
    from tests.trainer.models import perturbed_narrow, random_batch
    from trainer.config.loss_config import LossConfig
    from trainer.config.optim_config import OptimizerConfig
    from trainer.optim.adamw import AdamW
    from trainer.training.train_step import TrainStep

    model = perturbed_narrow()
    optimizer = AdamW(OptimizerConfig(microbatches=parts), steps=100, variables=model.trainable_variables)
    step = TrainStep(model, optimizer, losses=LossConfig(), seed=1, parts=parts)
    batch = random_batch(frames=[FRAMES] * CLIPS, token_counts=[TOKENS] * CLIPS, width=FRAMES, tokens=TOKENS)
    before = set(folder.glob(REPORTS))
    step._program(batch)
    (report,) = set(folder.glob(REPORTS)) - before
    (total,) = re.findall(r"^Total bytes used: (\d+) ", report.read_text(encoding="utf-8"))
    return int(total)


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = xla_flags(FAST_COMPILATION, f"--xla_dump_to={sys.argv[1]}")
    main(Path(sys.argv[1]))
