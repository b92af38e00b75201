"""The memory probe: run the largest batches before the first step, and reduce those that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trainer.checkpoint.checkpoint import NamedVariables, copy_to_host
from trainer.data.bucket_types import Bucket
from trainer.distributed.device_memory import OutOfMemory, translate_oom
from trainer.distributed.devices import Devices
from trainer.training.data_module import DataModule
from trainer.training.train_step import Batch, TrainStep


def probe_memory(
    step: TrainStep,
    *,
    data: DataModule,
    devices: Devices,
    variables: NamedVariables,
    frames_per_step: int,
    reduce: Callable[[Bucket], object],
    announce: Callable[..., object],
) -> None:
    """Run one step per bucket, from the most to the least memory, until a bucket fits as planned.

    Args:
        variables: what a step changes; restored afterwards.
        reduce: reduces the planned batch size of a bucket that does not fit.
        announce: called before each compilation.
    """
    before, like = copy_to_host(variables), data.train.element_spec
    parts = [bucket.per_device(devices.count) for bucket in data.plan.buckets]
    for number in order_by_memory(parts, frames_per_step=frames_per_step):
        planned = data.plan.buckets[number]
        while True:
            bucket = data.plan.buckets[number]
            announce("training", bucket, of=data.plan.buckets)
            if _fits(step, devices.full_batch(bucket, like=like)):
                break
            restore_variables(variables, before)  # the update may have failed and lost weights
            reduce(bucket)
        if bucket == planned:
            break
    restore_variables(variables, before)


def restore_variables(variables: NamedVariables, before: Mapping[str, np.ndarray]) -> None:
    """Assign the values of `before`; a failed update may have lost the variables' own."""
    for name, variable in variables.items():
        variable.assign(before[name])


def order_by_memory(buckets: Sequence[Bucket], *, frames_per_step: int) -> list[int]:
    """Return the indices of the buckets, most activation memory first.

    A transformer layer keeps s b h (34 + 5 a s / h) bytes for b sequences of s positions, width h and a heads
    (Korthikanti et al., 2022, arXiv:2205.05198, section 4); h / a is 64 here.
    """

    def memory(number: int) -> float:
        positions = buckets[number].frames / frames_per_step
        return buckets[number].clips * positions * (34 + 5 * positions / 64)

    return sorted(range(len(buckets)), key=memory, reverse=True)


def _fits(step: TrainStep, batch: Batch) -> bool:
    """Run one step, and return False if it does not fit into memory; waits for the device."""
    try:
        translate_oom(step, batch)["loss"].numpy()
    except OutOfMemory:
        return False
    return True
