"""The training step: forward, backward and update in one XLA program for each batch shape."""

from __future__ import annotations

import tensorflow as tf

from trainer.conditioning import choose_crop
from trainer.loss_balance import BALANCED, balance
from trainer.losses import LossConfig, Target, Voices, loss_terms, weighted_sum
from trainer.model.decoder import Decoded
from trainer.model.noise import Noise
from trainer.model.xtts import XTTS
from trainer.optimization.adamw import AdamW

Batch = dict[str, tf.Tensor]


class TrainStep:
    """One update; its randomness comes from the seed and the step number alone."""

    def __init__(self, model: XTTS, optimizer: AdamW, *, losses: LossConfig, seed: int):
        self._model, self._optimizer, self._losses, self._seed = model, optimizer, losses, seed
        self._compiled = tf.function(self._update, jit_compile=True, autograph=False)

    def __call__(self, batch: Batch) -> dict[str, tf.Tensor]:
        """Update the model; losses, gradients' norm and learning rate as scalars, `counts` of frames and clips [2].

        All are floats: TensorFlow keeps int32 in the host's memory, and a call should not wait for a copy to it.
        """
        return self._compiled(batch)

    @property
    def programs(self) -> int:
        """XLA programs compiled so far: shapes are static, so each trace is one."""
        return self._compiled.experimental_get_tracing_count()

    def _update(self, batch: Batch) -> dict[str, tf.Tensor]:
        step = self._optimizer.iterations.value
        noise = Noise(seed=self._seed, step=step)
        with tf.GradientTape() as tape:
            _, losses = teacher_force(self._model, batch, losses=self._losses, step=step, noise=noise)
        variables = self._model.trainable_variables
        gradients = tape.gradient(losses["loss"], [variable.value for variable in variables])
        counts = tf.stack([tf.reduce_sum(batch["frames"]), tf.math.count_nonzero(batch["frames"], dtype=tf.int32)])
        return {
            **losses,
            **self._optimizer.apply(gradients, loss=losses["loss"]),
            "counts": tf.cast(counts, tf.float32),
        }


class EvaluationStep:
    """Losses and output without any randomness."""

    def __init__(self, model: XTTS, *, losses: LossConfig):
        self._model, self._losses = model, losses
        self._compiled = tf.function(self._evaluate, jit_compile=True, autograph=False)

    def __call__(self, batch: Batch) -> tuple[dict[str, tf.Tensor], Decoded]:
        """The losses of a batch, and what was decoded."""
        return self._compiled(batch)

    @property
    def programs(self) -> int:
        """XLA programs compiled so far, as of the training step."""
        return self._compiled.experimental_get_tracing_count()

    def _evaluate(self, batch: Batch) -> tuple[dict[str, tf.Tensor], Decoded]:
        decoded, losses = teacher_force(self._model, batch, losses=self._losses, step=None, noise=None)
        return losses, decoded


def teacher_force(
    model: XTTS, batch: Batch, *, losses: LossConfig, step: tf.Tensor | None, noise: Noise | None
) -> tuple[Decoded, dict[str, tf.Tensor]]:
    """Decode a batch as the stream gives it, conditioned on a crop of each clip, and judge it as of update `step`.

    Returns:
        What was decoded; each term of the loss as it is, their weighted sum as `loss` and, where weights adapt, these.
    """
    weights = losses.weights_at(step)
    if step is None or not losses.adaptive:
        decoded, terms = _judge(model, batch, losses=losses, noise=noise)
        return decoded, {"loss": weighted_sum(terms, weights), **terms}
    with tf.GradientTape(persistent=True) as tape:
        decoded, terms = _judge(model, batch, losses=losses, noise=noise)
    shared = [variable.value for variable in model.decoder.last_shared]
    weights = balance(weights, {name: tape.gradient(terms[name], shared) for name in BALANCED if name in terms})
    shown = {f"{name}_weight": weights[name] for name in terms}
    return decoded, {"loss": weighted_sum(terms, weights), **terms, **shown}


def _judge(
    model: XTTS, batch: Batch, *, losses: LossConfig, noise: Noise | None
) -> tuple[Decoded, dict[str, tf.Tensor]]:
    """What is decoded, and each term of the loss."""
    mel, frames, config = tf.cast(batch["mel"], tf.float32), batch["frames"], model.config
    crop = choose_crop(mel, frames, crop_frames=config.crop_frames, dropped=config.reference_dropout, noise=noise)
    decoded = model(
        mel,
        tokens=batch["tokens"],
        token_counts=batch["token_counts"],
        crop=crop.mel,
        crop_frames=crop.frames,
        noise=noise,
    )
    voices = None
    if losses.voice:
        spoken, wanted = (model.recognise(*one) for one in ((decoded.mel, frames), (crop.mel, crop.frames)))
        voices = Voices(spoken, wanted, crop.frames > 0)
    target = Target(model.decoder.standardise(mel), frames, batch["token_counts"], crop.heard)
    return decoded, loss_terms(decoded, target=target, voices=voices, config=losses)
