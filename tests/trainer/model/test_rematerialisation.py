"""Activations computed again: the same losses and gradients, and truly computed again by XLA."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import random_batch, teacher_force
from trainer.config.loss_config import LossConfig
from trainer.config.model_sizes import StackDims
from trainer.model.attention import KeysValues, causal_mask, key_mask
from trainer.model.layers import DecoderBlock, Encoder, LayerConfig
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS

B, N, LAYERS = 3, 7, 2
STACK = StackDims(64, LAYERS)


def loss_and_gradients(model: XTTS) -> tuple[float, dict[str, np.ndarray]]:
    given = random_batch(frames=[24, 17, 9], token_counts=[10, 4, 7], width=24, tokens=10)
    with tf.GradientTape() as tape:
        noise = RngStream(seed=1, step=tf.constant(2))
        _, terms = teacher_force(model, given, losses=LossConfig(), step=tf.constant(0), noise=noise)
    variables = model.trainable_variables
    found = tape.gradient(terms["loss"], [variable.value for variable in variables])
    return float(terms["loss"]), {
        variable.path: tf.convert_to_tensor(one).numpy() for variable, one in zip(variables, found, strict=True)
    }


@pytest.mark.slow
def test_rematerialisation_changes_neither_loss_nor_gradients(models: Callable[..., XTTS]) -> None:
    """Dropout is on: what is computed again must drop again what was dropped."""
    plain, gradients = loss_and_gradients(models(4))
    again, others = loss_and_gradients(models(4, rematerialise=True))
    assert again == plain
    assert others.keys() == gradients.keys()
    for path, gradient in gradients.items():
        np.testing.assert_allclose(others[path], gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max(), err_msg=path)


def encoding(layer_config: LayerConfig) -> tuple[list[keras.Layer], Callable[[tf.Tensor], tf.Tensor]]:
    """A stack of the encoder's blocks."""
    encoder, mask = Encoder(STACK, layer_config, name="encoder"), key_mask(tf.constant([7, 3, 5]), N)
    return [encoder], lambda x: encoder(x, mask, noise=RngStream(seed=1, step=tf.constant(2)))


def decoding(layer_config: LayerConfig) -> tuple[list[keras.Layer], Callable[[tf.Tensor], tf.Tensor]]:
    """The decoder's blocks, one after another, over a memory that is given."""
    blocks = [DecoderBlock(STACK, layer_config, name=f"block_{index}") for index in range(LAYERS)]
    memory = KeysValues(*tf.unstack(tf.random.stateless_normal([2, B, N, 1, 64], [3, 4])))
    mask = key_mask(tf.constant([7, 3, 5]), N)

    def decode(x: tf.Tensor) -> tf.Tensor:
        noise = RngStream(seed=1, step=tf.constant(2))
        for block in blocks:
            x, _ = block(x, causal_mask(N), memory, mask, rotation=None, noise=noise)
        return x

    return blocks, decode


STACKS = {"encoder": encoding, "decoder": decoding}


def compiled_products(stack: str, *, rematerialise: bool) -> int:
    """Matrix products in XLA's program for the gradients of a stack of blocks."""
    layer_config = LayerConfig(0.1, keras.DTypePolicy("float32"), rematerialise=rematerialise)
    layers, forward = STACKS[stack](layer_config)
    x = tf.random.stateless_normal([B, N, 64], [1, 2])
    forward(x)

    @tf.function(jit_compile=True, autograph=False)
    def gradients(x: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(forward(x)))
        return tape.gradient(loss, [variable.value for layer in layers for variable in layer.trainable_variables])

    text = gradients.experimental_get_compiler_ir(x)(stage="optimized_hlo")
    return sum(text.count(f" {name}(") for name in ("dot", "custom-call"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stack", "forward"),
    [
        # of a block: query, key, value, scores, mixture, output, expand, contract; the last is not needed again
        ("encoder", 8),
        # and over the memory query, scores, mixture, output
        ("decoder", 12),
    ],
)
def test_xla_computes_again_what_it_is_told_to(stack: str, forward: int) -> None:
    """A compiler that saw twice the same products would keep the first, and its memory."""
    plain, again = (compiled_products(stack, rematerialise=one) for one in (False, True))
    assert again - plain >= LAYERS * (forward - 1)
