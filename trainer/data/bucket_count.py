"""Chooses the number of batch shapes: each costs one compilation, and saves padding in every epoch."""

from __future__ import annotations

from typing import NamedTuple


class BucketCountOption(NamedTuple):
    """The cost of training with a given number of batch shapes."""

    shapes: int
    padding: float  # share of the frames
    compile_s: float
    epoch_s: float  # time that an epoch spends on padding
    run_s: float  # time that all epochs spend on padding

    @property
    def total_s(self) -> float:
        return self.compile_s + self.run_s


def cheapest_option(options: tuple[BucketCountOption, ...]) -> BucketCountOption:
    """The option with the least total time; among equals, the one with the fewest shapes."""
    return min(options, key=lambda option: (option.total_s, option.shapes))


def explain_bucket_count(options: tuple[BucketCountOption, ...], *, epochs: float) -> str:
    """One line that compares the chosen number of shapes with the next smaller and the next larger option."""
    best = cheapest_option(options)
    index = options.index(best)
    others = [f"{one.shapes}: {one.total_s - best.total_s:,.0f} s more" for one in _neighbours(options, index)]
    compared = f"; {', '.join(others)}" if others else ""
    return (
        f"{best.shapes} shape{'s' * (best.shapes > 1)} chosen: {best.compile_s:,.0f} s to compile, "
        f"{best.run_s:,.0f} s of padding ({format_seconds(best.epoch_s)} s in each of {epochs:,.1f} epochs){compared}"
    )


def format_seconds(seconds: float) -> str:
    """Whole seconds; below ten, two significant digits."""
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _neighbours(options: tuple[BucketCountOption, ...], index: int) -> list[BucketCountOption]:
    return [options[near] for near in (index - 1, index + 1) if 0 <= near < len(options)]
