"""How many weights a size has, and the table of the design."""

from __future__ import annotations

import math
from collections.abc import Callable

from trainer.model.size import SIZES
from trainer.model.xtts import XTTS, ModelConfig


def parameters(model: XTTS) -> int:
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)


def test_pico_has_so_many_parameters_with_40_tokens_and_16_mels(models: Callable[..., XTTS]) -> None:
    assert parameters(models(4)) == 921_377


def test_the_sizes_are_those_of_the_design() -> None:
    found = {
        name: (*size.text_encoder, *size.audio_encoder, *size.decoder, size.speaker) for name, size in SIZES.items()
    }
    found.pop("pico")
    found.pop("nano")
    assert found == {
        "tiny": (256, 4, 256, 4, 768, 8, 256),
        "small": (384, 6, 512, 6, 1024, 12, 320),
        "normal": (512, 8, 768, 8, 1536, 16, 512),
        "big": (768, 10, 1024, 10, 2048, 20, 640),
    }
    assert ModelConfig().size == "normal"
    for size in SIZES.values():
        for stack in (size.text_encoder, size.audio_encoder, size.decoder):
            assert stack.heads * 64 == stack.width
