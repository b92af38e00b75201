"""Step by step with a cache, against teacher forcing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import M, disturbable, random_batch, random_mel
from trainer.model.decoder import EncoderStates
from trainer.model.xtts import XTTS

F, T, C = 24, 10, 12


def by_steps(model: XTTS, mel: np.ndarray, *, memory: EncoderStates, r: int) -> tuple[np.ndarray, ...]:
    """Mean, stop and alignment, each step fed with the true frames before it; mel [B, F, M] standardised."""
    steps = mel.shape[1] // r
    cache = model.decoder.empty_cache(len(mel), steps=steps)
    padded = np.pad(mel, [(0, 0), (r, 0), (0, 0)])
    taken = []
    for number in range(steps):
        previous = padded[:, number * r : (number + 1) * r]
        step, cache = model.decoder.step(previous, memory, cache, tf.constant(number))
        taken.append((step.mean, step.stop_logits, step.alignment))
    means, stops, alignments = zip(*taken, strict=True)
    return np.concatenate(means, 1), np.concatenate(stops, 1), np.concatenate(alignments, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("r", "options"),
    [(1, {}), (4, {}), (4, {"positions": "rotary"}), (4, {"style_tokens": 10})],
    ids=["one frame", "four frames", "rotary", "style tokens"],
)
def test_cached_decoding_equals_teacher_forcing(models: Callable[..., XTTS], r: int, options: dict) -> None:
    model, given = models(r, **options), random_batch(frames=[F, F], token_counts=[T, 4], width=F, tokens=T)
    memory = model.encode_memory(
        given["tokens"], given["token_counts"], model.encode_reference(random_mel(2, C, seed=1), tf.constant([C, 5]))
    )
    mel = model.decoder.standardise(given["mel"])
    forced = model.decoder(mel, memory)
    mean, stop, alignment = by_steps(model, mel.numpy(), memory=memory, r=r)
    np.testing.assert_allclose(mean, forced.mean, atol=2e-4)
    np.testing.assert_allclose(stop, forced.stop_logits, atol=1e-4)
    np.testing.assert_allclose(alignment, forced.alignment, atol=1e-5)


@pytest.mark.slow
def test_in_bfloat16_mels_and_their_statistics_keep_all_their_bits(models: Callable[..., XTTS]) -> None:
    """Where the networks say nothing, the mean frame must be the corpus' mean to the last bit of float32."""
    with disturbable(models(4, precision="bfloat16")) as model:
        (distribution,) = (layer for layer in model.decoder._flatten_layers() if layer.name == "distribution")
        for variable in distribution.variables:
            variable.assign(tf.zeros_like(variable))
        mean = np.linspace(-9.123, -3.777, M).astype(np.float32)
        model.decoder.set_statistics(mean=list(mean), std=[1.937] * M)
        given = random_batch(frames=[F], token_counts=[T], width=F, tokens=T)
        voice = model.encode_reference(random_mel(1, C), tf.constant([C]))
        memory = model.encode_memory(given["tokens"], given["token_counts"], voice)
        mel = model.decoder.standardise(given["mel"])
        forced, stepped = model.decoder(mel, memory).mean, by_steps(model, mel.numpy(), memory=memory, r=4)[0]
        for standardised in (forced, stepped):
            assert (model.decoder.unstandardise(standardised).numpy() == mean).all()


@pytest.mark.slow
def test_in_bfloat16_cached_decoding_is_close_to_teacher_forcing(models: Callable[..., XTTS]) -> None:
    model = models(4, precision="bfloat16")
    given = random_batch(frames=[F], token_counts=[T], width=F, tokens=T)
    memory = model.encode_memory(
        given["tokens"], given["token_counts"], model.encode_reference(random_mel(1, C), tf.constant([C]))
    )
    mel = model.decoder.standardise(given["mel"])
    forced = model.decoder(mel, memory).mean.numpy()
    stepped, _, _ = by_steps(model, mel.numpy(), memory=memory, r=4)
    assert np.abs(stepped - forced).mean() < 0.02
