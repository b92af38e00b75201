"""The plot of `myxtts-train inspect-input`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trainer.data.bucket_types import Bucket
from trainer.tools.inspection_plot import _draw_buckets


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
