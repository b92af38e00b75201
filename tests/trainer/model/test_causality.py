"""No output of the decoder depends on a frame to come, nor on padding, nor on its neighbours in the batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import decode, random_batch, random_mel
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS

F, T, C = 24, 10, 12
MEL_OUTPUTS = ("mean", "log_variance", "coarse", "refined", "mel")


def batch() -> dict:
    return random_batch(frames=[F, F - 5, 9], token_counts=[T, 4, 7], width=F, tokens=T)


@pytest.mark.slow
@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("frame", [0, 11, *(pytest.param(one, marks=pytest.mark.soak) for one in (5, 23))])
@pytest.mark.parametrize(("r", "positions"), [(1, "sinusoidal"), (4, "sinusoidal"), (4, "rotary")])
def test_a_changed_frame_changes_outputs_of_later_steps_only(
    models: Callable[..., XTTS], r: int, positions: str, frame: int, random: bool
) -> None:
    model, given, crop = models(r, positions=positions), batch(), random_mel(3, C, seed=1)
    changed = given["mel"].numpy().copy()
    changed[:, frame] += 3.0

    def outputs(mel: np.ndarray) -> dict[str, np.ndarray]:
        mel = model.decoder.standardise(mel)
        memory = model.encode_memory(
            given["tokens"], given["token_counts"], model.encode_reference(crop, tf.constant([C, C, C]))
        )
        noise = RngStream(seed=3, step=tf.constant(7)) if random else None
        return {name: value.numpy() for name, value in model.decoder(mel, memory, noise=noise)._asdict().items()}

    before, after = outputs(given["mel"].numpy()), outputs(changed)
    first_step = frame // r + 1  # the step that first hears the frame
    for name in MEL_OUTPUTS:
        difference = np.abs(before[name] - after[name]).max(axis=(0, 2))
        assert (difference[: first_step * r] == 0).all(), name
        assert (difference[first_step * r :] > 0).all(), name
    for name, axes in (("stop_logits", (0,)), ("alignment", (0, 2))):
        difference = np.abs(before[name] - after[name]).max(axis=axes)
        assert (difference[:first_step] == 0).all(), name
        assert (difference[first_step:] > 0).all(), name


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_the_text_encoder_does_not_see_padding(models: Callable[..., XTTS], positions: str) -> None:
    encoder = models(4, positions=positions).text_encoder
    short = random_batch(frames=[F], token_counts=[7], width=F, tokens=7)["tokens"].numpy()
    long = np.concatenate([short, np.full((1, 9), 13, np.int32)], axis=1)
    plain, padded = (encoder(tokens, tf.constant([7])).numpy() for tokens in (short, long))
    np.testing.assert_allclose(padded[:, :7], plain, atol=1e-5)


@pytest.mark.parametrize("frames", [1, 2, 11, 12])
def test_the_reference_encoder_does_not_see_padding(models: Callable[..., XTTS], frames: int) -> None:
    model, crop = models(4), random_mel(1, frames)
    padded = np.concatenate([crop, random_mel(1, 7, seed=9)], axis=1)
    for plain, other in zip(
        model.encode_reference(crop, tf.constant([frames])),
        model.encode_reference(padded, tf.constant([frames])),
        strict=True,
    ):
        np.testing.assert_allclose(other, plain, atol=1e-5)


def test_without_a_frame_a_voice_is_the_learned_one_whatever_stands_in_the_crop(models: Callable[..., XTTS]) -> None:
    model = models(4)
    alone, beside = (
        model.encode_reference(random_mel(1, 8), tf.constant([0])),
        model.encode_reference(random_mel(2, 8), tf.constant([8, 0])),
    )
    for one, two in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(one[0], two[1])
        assert np.abs(two[0] - two[1]).max() > 0.1
    learned = {variable.name: variable for variable in model.trainable_variables if variable.name.startswith("no_")}
    np.testing.assert_array_equal(alone.latents[0], learned["no_latents"])
    np.testing.assert_array_equal(alone.speaker[0], learned["no_speaker"])


@pytest.mark.slow
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_the_decoder_does_not_see_more_padding_of_frames_or_tokens(models: Callable[..., XTTS], positions: str) -> None:
    model, given, crop = models(4, positions=positions), batch(), random_mel(3, C, seed=1)
    frames = given["mel"].numpy()
    more_frames = {**given, "mel": np.concatenate([frames, random_mel(3, 8, seed=4)], axis=1)}
    more_tokens = {**given, "tokens": np.pad(given["tokens"].numpy(), [(0, 0), (0, 6)], constant_values=17)}
    plain, longer, wordier = (decode(model, one, crop=crop) for one in (given, more_frames, more_tokens))
    for name in MEL_OUTPUTS:
        np.testing.assert_allclose(getattr(longer, name)[:, :F], getattr(plain, name), atol=2e-4, err_msg=name)
        np.testing.assert_allclose(getattr(wordier, name), getattr(plain, name), atol=2e-4, err_msg=name)
    np.testing.assert_allclose(longer.stop_logits[:, : F // 4], plain.stop_logits, atol=1e-4)
    np.testing.assert_allclose(wordier.stop_logits, plain.stop_logits, atol=1e-4)
    np.testing.assert_allclose(wordier.alignment[..., :T], plain.alignment, atol=1e-5)
    assert (wordier.alignment[..., T:].numpy() == 0).all()


@pytest.mark.slow
def test_another_order_of_clips_gives_the_same_outputs_in_that_order(models: Callable[..., XTTS]) -> None:
    model, given, crop, order = models(4), batch(), random_mel(3, C, seed=1), [2, 0, 1]
    lengths = [C, 3, 8]
    plain = decode(model, given, crop=crop, crop_frames=lengths)
    shuffled = decode(
        model,
        {name: tf.gather(value, order) for name, value in given.items()},
        crop=crop[order],
        crop_frames=[lengths[row] for row in order],
    )
    for name, value in shuffled._asdict().items():
        np.testing.assert_allclose(value, tf.gather(getattr(plain, name), order), atol=2e-4, err_msg=name)


@pytest.mark.slow
def test_text_and_voice_both_reach_the_output(models: Callable[..., XTTS]) -> None:
    model, given, crop = models(4), batch(), random_mel(3, C, seed=1)
    plain = decode(model, given, crop=crop).mean
    other_text = {**given, "tokens": (given["tokens"] + 1) % 40}
    assert np.abs(decode(model, other_text, crop=crop).mean - plain).max() > 1e-3
    first = np.eye(1, T, dtype=np.int32)  # of a text, which is its language
    other_language = {**given, "tokens": (given["tokens"] + first) % 40}
    assert (np.abs(decode(model, other_language, crop=crop).mean - plain).max(2) > 1e-4).all()
    assert np.abs(decode(model, given, crop=random_mel(3, C, seed=2)).mean - plain).max() > 1e-3
