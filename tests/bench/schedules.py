"""Plot of the learning rate of each preset over 200,000 steps, for docs/optimization.md.

python -m tests.bench.schedules docs/schedules.svg
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from trainer.platform.tf_setup import start_tensorflow

STEPS, POINTS = 200_000, 401
SIZE = "normal"


def draw(path: Path) -> None:
    """Draw a panel for each preset; the file is reproducible."""
    start_tensorflow()
    import tensorflow as tf

    from trainer.config.presets import Preset
    from trainer.config.train_config import TrainConfig
    from trainer.optim.schedules import scheduled_fraction

    mpl.rcParams.update({"svg.hashsalt": "schedules", "svg.fonttype": "none"})
    presets = get_args(Preset)
    figure = Figure(figsize=(9, 5), layout="constrained")
    steps = np.unique(np.linspace(0, STEPS - 1, POINTS).astype(np.int64))
    for preset, axes in zip(presets, figure.subplots(2, 2, sharex=True).flat, strict=True):
        config = TrainConfig.model_validate({"preset": preset, "model": {"size": SIZE}}).optimizer
        fraction = scheduled_fraction(
            config.schedule, step=tf.constant(steps), steps=STEPS, warmup_steps=config.warmup_steps
        )
        axes.plot(steps / 1000, config.learning_rate * fraction.numpy(), linewidth=1)
        axes.set_title(f"{preset}: {config.schedule.kind}, peak {config.learning_rate:.3g}", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.ticklabel_format(axis="y", scilimits=(0, 0))
        axes.grid(alpha=0.3)
    figure.supxlabel("thousand steps")
    figure.supylabel(f"learning rate ({SIZE})")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
