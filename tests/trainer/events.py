"""Read a run's TensorBoard events."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator


def steps_shown(run: Path) -> dict[str, list[int]]:
    """Return the logged steps by tag."""
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"tensors": 0}).Reload()
    return {tag: [event.step for event in events.Tensors(tag)] for tag in events.Tags()["tensors"]}
