"""Step by step with a cache, against teacher forcing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import M, disturbable, random_batch, random_mel
from trainer.model.layers import sinusoids
from trainer.model.xtts import XTTS

F, T, C = 24, 10, 12


def by_steps(model: XTTS, mel: np.ndarray, *, memory: object, r: int) -> tuple[np.ndarray, ...]:
    """Mean, stop and alignment, each step fed with the true frames before it."""
    steps = mel.shape[1] // r
    cache = model.decoder.empty_cache(len(mel), steps=steps)
    positions = tf.constant(sinusoids(steps, 128))
    taken = []
    for number in range(steps):
        previous = mel[:, (number - 1) * r : number * r] if number else np.full((len(mel), r, M), 99.0, np.float32)
        step, cache = model.decoder.step(previous, memory, cache, tf.constant(number), positions)
        taken.append((step.mean, step.stop_logits, step.alignment))
    means, stops, alignments = zip(*taken, strict=True)
    return np.concatenate(means, 1), np.concatenate(stops, 1), np.concatenate(alignments, 2)


@pytest.mark.parametrize("r", [1, 4])
def test_cached_decoding_equals_teacher_forcing(models: Callable[..., XTTS], r: int) -> None:
    model, given = models(r), random_batch(frames=[F, F], token_counts=[T, 4], width=F, tokens=T)
    memory = model.remember(
        given["tokens"], given["token_counts"], model.listen(random_mel(2, C, seed=1), tf.constant([C, 5]))
    )
    forced = model.decoder(given["mel"], memory)
    mean, stop, alignment = by_steps(model, given["mel"].numpy(), memory=memory, r=r)
    np.testing.assert_allclose(mean, forced.mean, atol=2e-4)
    np.testing.assert_allclose(stop, forced.stop_logits, atol=1e-4)
    np.testing.assert_allclose(alignment, forced.alignment, atol=1e-5)


def test_in_bfloat16_mels_and_their_statistics_keep_all_their_bits(models: Callable[..., XTTS]) -> None:
    """Where the networks say nothing, the mean frame must be the corpus' mean to the last bit of float32."""
    with disturbable(models(4, precision="bfloat16")) as model:
        (distribution,) = (layer for layer in model.decoder._flatten_layers() if layer.name == "distribution")
        for variable in distribution.variables:
            variable.assign(tf.zeros_like(variable))
        mean = np.linspace(-9.123, -3.777, M).astype(np.float32)
        model.decoder.set_statistics(mean=list(mean), std=[1.937] * M)
        given = random_batch(frames=[F], token_counts=[T], width=F, tokens=T)
        voice = model.listen(random_mel(1, C), tf.constant([C]))
        memory = model.remember(given["tokens"], given["token_counts"], voice)
        assert (model.decoder(given["mel"], memory).mean.numpy() == mean).all()
        assert (by_steps(model, given["mel"].numpy(), memory=memory, r=4)[0] == mean).all()


def test_in_bfloat16_cached_decoding_is_close_to_teacher_forcing(models: Callable[..., XTTS]) -> None:
    model = models(4, precision="bfloat16")
    given = random_batch(frames=[F], token_counts=[T], width=F, tokens=T)
    memory = model.remember(given["tokens"], given["token_counts"], model.listen(random_mel(1, C), tf.constant([C])))
    forced = model.decoder(given["mel"], memory).mean.numpy()
    stepped, _, _ = by_steps(model, given["mel"].numpy(), memory=memory, r=4)
    assert np.abs(stepped - forced).mean() < 0.02


def test_speech_is_cut_off_at_the_last_step_and_silent_past_its_end(models: Callable[..., XTTS]) -> None:
    model, tokens = models(4), tf.constant([[3, 5, 7]])
    crop = tf.constant(random_mel(1, C))

    def generate(threshold: float) -> object:
        return model.generate(
            tokens, crop=crop, crop_frames=tf.constant([C]), max_steps=5, seed=1, stop_threshold=threshold
        )

    whole, stopped = generate(1.0), generate(0.0)
    assert (int(whole.steps), int(stopped.steps)) == (5, 1)
    assert whole.mel.shape == stopped.mel.shape == (1, 20, M)
    assert (stopped.mel[:, 4:].numpy() == 0).all()
    np.testing.assert_allclose(stopped.mel[:, :4], whole.mel[:, :4], atol=1e-4)
    np.testing.assert_allclose(whole.alignment.numpy().sum(axis=1) <= 1.0, True)
