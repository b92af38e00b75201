"""The sizes of XTTS; heads are 64 wide, feed-forward layers four times the width."""

from __future__ import annotations

from typing import NamedTuple


class Stack(NamedTuple):
    """A stack of transformer blocks."""

    width: int
    layers: int

    @property
    def heads(self) -> int:
        return max(1, self.width // 64)


class Size(NamedTuple):
    """Width and depth of the three networks, and the widths of speaker embedding, pre-net and post-net."""

    text_encoder: Stack
    audio_encoder: Stack
    decoder: Stack
    speaker: int
    prenet: int
    postnet: int


SIZES = {
    "pico": Size(Stack(64, 2), Stack(64, 2), Stack(128, 2), 64, 64, 32),  # for tests: it compiles in seconds
    "nano": Size(Stack(192, 3), Stack(128, 2), Stack(192, 4), 128, 192, 128),  # learns to speak on CPUs
    "tiny": Size(Stack(256, 4), Stack(256, 4), Stack(768, 8), 256, 256, 256),
    "small": Size(Stack(384, 6), Stack(512, 6), Stack(1024, 12), 320, 256, 512),
    "normal": Size(Stack(512, 8), Stack(768, 8), Stack(1536, 16), 512, 256, 512),
    "big": Size(Stack(768, 10), Stack(1024, 10), Stack(2048, 20), 640, 256, 512),
}
