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
    """Compare the best speed with that of each other value of a field, all fields before it being as chosen."""
    fields = StepSettings._fields[: StepSettings._fields.index(field)]
    alike = [one for one in trials if all(getattr(one.settings, it) == getattr(best.settings, it) for it in fields)]
    others = sorted({getattr(one.settings, field) for one in alike} - {getattr(best.settings, field)})
    if not others:
        return ONLY_TRIED[field]
    compared = (f"{value}: {_best_speed(field, value, trials=alike)}" for value in others)
    return f"{best.frames_per_s:,.0f} frames/s; {'; '.join(compared)}".lower()


def _best_speed(field: str, value: Any, *, trials: Sequence[Trial]) -> str:
    speeds = [one.frames_per_s for one in trials if getattr(one.settings, field) == value and one.fits]
    return f"{max(speeds):,.0f}" if speeds else "does not fit into memory"


def buckets_reason(facts: Mapping[str, Any]) -> str:
    return f"by these costs, {facts['explanation']}"


def chunk_reason(facts: Mapping[str, Any]) -> str:
    return f"{facts['padding']:.1%} of an epoch's frames are padding, planned {facts['planned_padding']:.1%}"


def reads_reason(facts: Mapping[str, Any]) -> str:
    """Compare the speed of the input with that of the steps, for each number of reads that was tried."""
    tried = "; ".join(f"{number}: {speed:.1f} times as fast" for number, speed in facts["input_over_steps"].items())
    return f"the input relative to the steps, {tried}{'; training may wait for it' if facts['is_narrow'] else ''}"
