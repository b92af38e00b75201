"""How many batch shapes a run can afford: each is compiled once, and saves padding in every epoch."""

from __future__ import annotations

from typing import NamedTuple


class Choice(NamedTuple):
    """What a number of shapes costs a run."""

    shapes: int
    padding: float  # the share of frames
    compile_s: float
    epoch_s: float  # an epoch's time that goes into padding
    run_s: float  # that of all epochs

    @property
    def total_s(self) -> float:
        return self.compile_s + self.run_s


def cheapest(choices: tuple[Choice, ...]) -> Choice:
    """The choice with the least time in all; of equal ones that with fewer shapes."""
    return min(choices, key=lambda choice: (choice.total_s, choice.shapes))


def explain(choices: tuple[Choice, ...], *, epochs: float) -> str:
    """Why so many shapes, in one line."""
    best = cheapest(choices)
    place = choices.index(best)
    others = [f"{one.shapes}: {one.total_s - best.total_s:,.0f} s more" for one in _neighbours(choices, place)]
    compared = f"; {', '.join(others)}" if others else ""
    return (
        f"{best.shapes} shape{'s' * (best.shapes > 1)} chosen: {best.compile_s:,.0f} s to compile, "
        f"{best.run_s:,.0f} s of padding ({seconds_in_words(best.epoch_s)} s in each of {epochs:,.1f} epochs){compared}"
    )


def seconds_in_words(seconds: float) -> str:
    """Whole seconds, or two digits of fewer than ten."""
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _neighbours(choices: tuple[Choice, ...], place: int) -> list[Choice]:
    return [choices[near] for near in (place - 1, place + 1) if 0 <= near < len(choices)]
