"""The memory probe starts with the batch that needs most memory."""

from __future__ import annotations

import pytest

from trainer.data.bucket_types import Bucket
from trainer.training.memory_probe import order_by_memory

BUCKETS = [Bucket(64, 200, 24), Bucket(32, 400, 48), Bucket(4, 900, 96), Bucket(4, 1600, 176)]


@pytest.mark.parametrize(("frames_per_step", "order"), [(4, [1, 0, 3, 2]), (1, [3, 1, 0, 2])])
def test_buckets_are_ordered_by_activation_memory_with_quadratic_attention(
    frames_per_step: int, order: list[int]
) -> None:
    """The expected order differs from those by clips, by frames and by their product."""

    def kept_bytes(number: int, *, width: int = 768, heads: int = 12) -> float:
        clips, positions = BUCKETS[number].clips, BUCKETS[number].frames // frames_per_step
        return 34 * clips * positions * width + 5 * clips * heads * positions**2

    assert order_by_memory(BUCKETS, frames_per_step=frames_per_step) == order
    assert sorted(order, key=kept_bytes, reverse=True) == order
