"""Plot of `myxtts-train inspect-input`: clips by length, the buckets around them, and the padding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from shared.errors import UserError, writing
from trainer.data.inspection import Inspection

FORMATS = (".png", ".svg", ".pdf")
MAX_BINS = 120

_PLAN, _EPOCH, _STEPS = "#4878a8", "#d9822b", "#c03a2b"


def check_plot_path(path: Path) -> None:
    """Raises UserError unless a plot can be written there."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; create it or choose another one")


def write_plot(inspection: Inspection, *, path: Path, title: str) -> None:
    """Write the plot.

    Raises:
        UserError: it cannot be written.
    """
    figure = Figure(figsize=(13, 8), layout="constrained")
    figure.suptitle(title)
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 2))
    _draw_lengths(figure.add_subplot(grid[:, 0]), inspection)
    _draw_buckets(figure.add_subplot(grid[0, 1]), inspection)
    _draw_cost_by_bucket_count(figure.add_subplot(grid[1, 1]), inspection)
    with writing(path, advice="choose another file for the plot"):
        figure.savefig(path, dpi=120)


def _draw_lengths(axes: Axes, inspection: Inspection) -> None:
    """Records by frames and tokens, weighted by how often an epoch repeats them; a corner for each bucket."""
    buckets, rows = inspection.plan.buckets, inspection.rows["train"]
    last, rates = buckets[-1], inspection.plan.rates["train"]
    edges = [np.linspace(0, size, min(MAX_BINS, size) + 1) for size in (last.frames, last.tokens)]
    sampled = rates > 0
    counts, *_ = np.histogram2d(rows.frames[sampled], rows.tokens[sampled], bins=edges, weights=rates[sampled])
    drawn = axes.pcolormesh(*edges, counts.T, norm=LogNorm(vmin=counts[counts > 0].min() / 3), cmap="Blues")
    axes.figure.colorbar(drawn, ax=axes, label="records in an epoch", shrink=0.6)
    for bucket in buckets:
        axes.plot([0, bucket.frames, bucket.frames], [bucket.tokens, bucket.tokens, 0], color=_STEPS, linewidth=1)
    for bucket in buckets:
        axes.annotate(
            f"{bucket.clips}", (bucket.frames, bucket.tokens), color=_STEPS, fontsize=8, ha="right", va="bottom"
        )
    axes.set(
        xlabel="frames",
        ylabel="tokens",
        xlim=(0, last.frames * 1.03),
        ylim=(0, last.tokens * 1.05),
        title="clips by length; each corner is a bucket with its clips per batch",
    )


def _draw_buckets(axes: Axes, inspection: Inspection) -> None:
    """Padding of each bucket as planned and in epoch 0."""
    plan, epoch = inspection.plan, inspection.first_epoch
    places = np.arange(len(plan.buckets))
    axes.bar(places - 0.2, 100 * inspection.padding, 0.4, color=_PLAN, label=f"planned: {plan.bucket_plan.padding:.1%}")
    real = 100 * epoch.padding(plan.buckets)
    axes.bar(places + 0.2, real, 0.4, color=_EPOCH, label=f"epoch 0: {epoch.total_padding(plan.buckets):.1%}")
    axes.set_xticks(places, [f"{one.frames}×{one.tokens}" for one in plan.buckets], rotation=45, ha="right", fontsize=8)
    axes.set(ylabel="padding, % of frames", xlabel="bucket, frames × tokens", ylim=(0, None))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)  # above the bars


def _draw_cost_by_bucket_count(axes: Axes, inspection: Inspection) -> None:
    """Padding by number of shapes, and the seconds that a run loses to padding and compilation."""
    choices, chosen = inspection.plan.choices, len(inspection.plan.buckets)
    shapes = [one.shapes for one in choices]
    axes.plot(shapes, [100 * one.padding for one in choices], color=_PLAN, marker=".")
    axes.axvline(chosen, color=_STEPS, linewidth=1)
    axes.set(xlabel="number of shapes", ylim=(0, None))
    axes.set_ylabel("padding, % of frames", color=_PLAN)
    seconds = axes.twinx()
    seconds.plot(shapes, [one.total_s for one in choices], color=_EPOCH, marker=".")
    seconds.set(ylim=(0, None))
    seconds.set_ylabel("seconds of the run: compilation and padding", color=_EPOCH)
    axes.set_title(f"{chosen} shape{'s' * (chosen > 1)}", fontsize=10)
