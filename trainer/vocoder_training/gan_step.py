"""The training step of a vocoder, one program: an update of the discriminators, then one of the generator.

The first steps may have no discriminators: another program then updates the generator alone.

mel ─ generator ─► samples ─┬─ discriminators, beside the recording ─► their loss ─► their update
                            └─ updated discriminators, losses of signals ─► the generator's loss ─► its update
"""

from __future__ import annotations

import tensorflow as tf

from trainer.platform.first_calls import FirstCalls
from trainer.vocoder_training.gan import Gan, GanOptimizer
from trainer.vocoder_training.gan_losses import GanLosses


class GanStep:
    """A step on segments: mel [B, F, M] and samples [B, S]."""

    def __init__(self, gan: Gan, optimizer: GanOptimizer, *, losses: GanLosses, xla: bool):
        self._gan, self._optimizer, self._losses = gan, optimizer, losses
        self._programs = {
            "vocoder": tf.function(self._step, jit_compile=xla or None, autograph=False),
            "generator": tf.function(self._generator_step, jit_compile=xla or None, autograph=False),
        }
        self._first_calls = {name: FirstCalls(f"training of a {name}") for name in self._programs}

    def __call__(self, segments: dict[str, tf.Tensor], *, with_discriminators: bool = True) -> dict[str, tf.Tensor]:
        """Update both, or the generator alone.

        Returns:
            The loss, its terms and the optimizers' figures.
        """
        name = "vocoder" if with_discriminators else "generator"
        with self._first_calls[name].cache_programs(segments["mel"].shape):
            return self._programs[name](segments["mel"], segments["samples"])

    @property
    def programs(self) -> int:
        """Number of compiled programs so far."""
        return sum(one.experimental_get_tracing_count() for one in self._programs.values())

    def _generator_step(self, mel: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            samples = tf.ensure_shape(self._gan.generator.call(mel), recording.shape)
            terms = self._losses.without_discriminators(samples, recording)
        return terms | self._update_generator(tape, terms["loss"])

    def _step(self, mel: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        generator, discriminators = self._gan.generator, self._gan.discriminators
        with tf.GradientTape() as tape:
            samples = tf.ensure_shape(generator.call(mel), recording.shape)
            figures = self._update_discriminators(tf.stop_gradient(samples), recording)
            real, fake = ([one.call(signal) for one in discriminators] for signal in (recording, samples))
            terms = self._losses.of_generator(samples, recording, real=real, fake=fake)
        return terms | figures | self._update_generator(tape, terms["loss"])

    def _update_generator(self, tape: tf.GradientTape, loss: tf.Tensor) -> dict[str, tf.Tensor]:
        weights = [one.value for one in self._gan.generator.trainable_variables]
        return self._optimizer.generator.apply(tape.gradient(loss, weights), loss=loss)

    def _update_discriminators(self, samples: tf.Tensor, recording: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            real, fake = ([one.call(signal) for one in self._gan.discriminators] for signal in (recording, samples))
            loss = self._losses.of_discriminators(real, fake)
        weights = [one.value for one in self._gan.discriminator_variables]
        applied = self._optimizer.discriminators.apply(tape.gradient(loss, weights), loss=loss)
        names = ("gradient_norm", "skipped")
        return {"discriminators": loss, **{f"discriminators_{name}": applied[name] for name in names}}
