"""The start-up probe: whether batches fit into the devices' memory, the largest being tried before the first step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trainer.checkpoint.checkpoint import NamedVariables, copy_to_host
from trainer.data.buckets import Bucket
from trainer.distributed.device_memory import OutOfMemory, translate_oom
from trainer.distributed.devices import Devices
from trainer.training.data_module import DataModule
from trainer.training.train_step import Batch, TrainStep


def probe_memory(
    step: TrainStep,
    *,
    feed: DataModule,
    devices: Devices,
    state: NamedVariables,
    frames_per_step: int,
    lower: Callable[[Bucket], object],
    announce: Callable[..., object],
) -> None:
    """Try the largest batch, and smaller ones until one fits as it was planned.

    Args:
        state: what a step changes; it is put back.
        lower: plans fewer clips in a bucket that does not fit.
        announce: hears of each program before it is compiled.
    """
    before, like = copy_to_host(state), feed.train.element_spec
    parts = [bucket.part(devices.count) for bucket in feed.plan.buckets]
    for number in order_by_memory(parts, frames_per_step=frames_per_step):
        planned = feed.plan.buckets[number]
        while True:
            bucket = feed.plan.buckets[number]
            announce("training", bucket, of=feed.plan.buckets)
            if _fits(step, devices.full_batch(bucket, like=like)):
                break
            restore_variables(state, before)  # it may have been the update for which there was no room
            lower(bucket)
        if bucket == planned:
            break
    restore_variables(state, before)


def restore_variables(state: NamedVariables, before: Mapping[str, np.ndarray]) -> None:
    """Set variables to what they were before an update found no room, with which they may be gone."""
    for name, variable in state.items():
        variable.assign(before[name])


def order_by_memory(buckets: Sequence[Bucket], *, frames_per_step: int) -> list[int]:
    """The numbers of the buckets, the one whose activations take most memory first.

    A transformer layer keeps s b h (34 + 5 a s / h) bytes for b sequences of s positions (Korthikanti et al., 2022,
    arXiv:2205.05198, section 4), where h / a is 64 here.
    """

    def memory(number: int) -> float:
        positions = buckets[number].frames / frames_per_step
        return buckets[number].clips * positions * (34 + 5 * positions / 64)

    return sorted(range(len(buckets)), key=memory, reverse=True)


def _fits(step: TrainStep, batch: Batch) -> bool:
    """Whether the step of a batch fits; waits for the device."""
    try:
        translate_oom(step, batch)["loss"].numpy()
    except OutOfMemory:
        return False
    return True
