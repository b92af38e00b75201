"""The named sizes of XTTS: widths and depths of its networks; heads are 64 wide, feed-forward layers 4 · width."""

from __future__ import annotations

from typing import NamedTuple


class StackDims(NamedTuple):
    """Width and number of a stack of transformer blocks."""

    width: int
    layers: int

    @property
    def heads(self) -> int:
        return max(1, self.width // 64)


class ModelDims(NamedTuple):
    """Dimensions of the three networks, and widths of speaker embedding, pre-net and post-net."""

    text_encoder: StackDims
    reference_encoder: StackDims
    decoder: StackDims
    speaker: int
    prenet: int
    postnet: int


SIZES = {
    "pico": ModelDims(
        StackDims(64, 2), StackDims(64, 2), StackDims(128, 2), 64, 64, 32
    ),  # for tests: it compiles in seconds
    "nano": ModelDims(
        StackDims(192, 3), StackDims(128, 2), StackDims(192, 4), 128, 192, 128
    ),  # learns to speak on CPUs
    "tiny": ModelDims(StackDims(256, 4), StackDims(256, 4), StackDims(768, 8), 256, 256, 256),
    "small": ModelDims(StackDims(384, 6), StackDims(512, 6), StackDims(1024, 12), 320, 256, 512),
    "normal": ModelDims(StackDims(512, 8), StackDims(768, 8), StackDims(1536, 16), 512, 256, 512),
    "big": ModelDims(StackDims(768, 10), StackDims(1024, 10), StackDims(2048, 20), 640, 256, 512),
}
