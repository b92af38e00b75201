"""How many weights a size has; counted without running or initialising anything."""

from __future__ import annotations

import math

import keras
import pytest
import tensorflow as tf

from trainer.model.size import SIZES
from trainer.model.xtts import XTTS, ModelConfig


@pytest.mark.parametrize(
    ("size", "parameters"), [("nano", 1_046_625), pytest.param("tiny", 86_279_457, marks=pytest.mark.slow)]
)
def test_number_of_parameters_with_100_tokens_and_80_mels(size: str, parameters: int) -> None:
    with tf.Graph().as_default(), keras.StatelessScope(initialize_variables=False):
        model = XTTS(ModelConfig(size=size), vocabulary_size=100, n_mels=80)
    assert sum(math.prod(variable.shape) for variable in model.trainable_variables) == parameters


def test_the_sizes_are_those_of_the_design() -> None:
    found = {
        name: (*size.text_encoder, *size.audio_encoder, *size.decoder, size.speaker) for name, size in SIZES.items()
    }
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
