"""The plot of `myxtts-train inspect-input`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from shared.config import load_config
from shared.dataset import Dataset
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.inspection import inspect_input
from trainer.tools.inspection_plot import _draw_buckets, _draw_lengths


def test_the_legend_covers_no_bar() -> None:
    buckets = tuple(Bucket(8, 100 * number, 20 * number) for number in range(1, 9))
    padding = np.linspace(0.1, 0.4, len(buckets))
    inspection = SimpleNamespace(
        plan=SimpleNamespace(buckets=buckets, bucket_plan=SimpleNamespace(padding=0.25)),
        first_epoch=SimpleNamespace(padding=lambda _: padding[::-1], total_padding=lambda _: 0.3),
        padding=padding,
    )
    figure = Figure(figsize=(5, 4), layout="constrained")
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    _draw_buckets(axes, inspection)
    canvas.draw()
    legend = axes.get_legend()
    assert legend is not None
    covered = legend.get_window_extent()
    assert len(axes.patches) == 2 * len(buckets)
    assert not any(covered.overlaps(bar.get_window_extent()) for bar in axes.patches)


def test_lengths_are_drawn_from_zero_to_beyond_the_largest_bucket(dataset: Dataset) -> None:
    inspection = inspect_input(load_config("configs/train_sample.yaml", of=TrainConfig), dataset=dataset)
    axes = Figure().add_subplot()
    _draw_lengths(axes, inspection)
    last = inspection.plan.buckets[-1]
    assert (axes.get_xlim()[0], axes.get_ylim()[0]) == (0, 0)
    assert last.frames < axes.get_xlim()[1] < 1.1 * last.frames
    assert last.tokens < axes.get_ylim()[1] < 1.1 * last.tokens
