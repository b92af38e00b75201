"""The reasons that `myxtts-train tune` gives for its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.tools.step_search import StepSettings, Trial

ONLY_TRIED = {
    "precision": "the one for these devices",
    "rematerialise": "the batch fits without",
    "microbatches": "single clips",
    "global_frames": "as in the config",
}


def step_reason(field: str, *, best: Trial, trials: Sequence[Trial]) -> str:
    """Compare the speeds with each value of a field of StepSettings that was tried.

    The fields before it are as chosen. The trials have the same batch, the smallest one, unless the batch is compared.
    """
    fields = StepSettings._fields[: StepSettings._fields.index(field)]
    alike = [one for one in trials if all(getattr(one.settings, it) == getattr(best.settings, it) for it in fields)]
    if field != "global_frames":
        frames = min(one.settings.global_frames for one in alike)
        alike = [one for one in alike if one.settings.global_frames == frames]
    chosen = getattr(best.settings, field)
    others = sorted({getattr(one.settings, field) for one in alike} - {chosen})
    if not others:
        return ONLY_TRIED[field]
    compared = (f"{value}: {_best_speed(field, value, trials=alike)}" for value in others)
    return f"{_best_speed(field, chosen, trials=alike)} frames/s; {'; '.join(compared)}".lower()


def _best_speed(field: str, value: Any, *, trials: Sequence[Trial]) -> str:
    speeds = [one.frames_per_s for one in trials if getattr(one.settings, field) == value and one.fits]
    return f"{max(speeds):,.0f}" if speeds else "does not fit into memory"


def chunk_reason(facts: Mapping[str, Any]) -> str:
    return f"{facts['padding']:.1%} of an epoch's frames are padding, planned {facts['planned_padding']:.1%}"


def reads_reason(facts: Mapping[str, Any]) -> str:
    """Compare the speed of the input with that of the steps, for each number of reads that was tried."""
    tried = "; ".join(f"{number}: {speed:.1f} times as fast" for number, speed in facts["input_over_steps"].items())
    return f"the input relative to the steps, {tried}{'; training may wait for it' if facts['is_narrow'] else ''}"
