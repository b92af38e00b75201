"""Speaking in parts by programs of fixed shapes: what the model gives as a whole, by one program for all texts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import random_mel, random_tokens, smallest
from trainer.model.xtts import XTTS, Generated
from trainer.speech import generation
from trainer.speech.generation import Generator, MelPart, Prompt, Sampling, padded_size

R, CROP_FRAMES, STEPS = 4, 16, 21
PROMPTS = [(5, 9, 1), (8, 0, 2), (3, 16, 3)]  # tokens, frames of the crop, seed


@pytest.fixture(scope="module")
def model() -> XTTS:
    return smallest(dropout=0.0)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches that grow twice within STEPS."""
    monkeypatch.setattr(generation, "PART_STEPS", 2)
    monkeypatch.setattr(generation, "CACHE_STEPS", 4)
    monkeypatch.setattr(generation, "MIN_TOKENS", 8)


def prompt(tokens: int, *, crop: int, seed: int = 0) -> Prompt:
    return Prompt(np.array(random_tokens(tokens, seed=seed)), random_mel(crop, seed=seed))


def whole(model: XTTS, given: Prompt, *, sampling: Sampling, xla: bool) -> Generated:
    """Compiled or not as the parts are: XLA draws other normal numbers than TensorFlow from the same seed."""

    @tf.function(jit_compile=xla or None, autograph=False)
    def generate() -> Generated:
        return model.generate(
            tf.constant(given.tokens[None]),
            token_counts=tf.constant([len(given.tokens)]),
            crop=tf.constant(np.pad(given.crop, [(0, CROP_FRAMES - len(given.crop)), (0, 0)])[None]),
            crop_frames=tf.constant([len(given.crop)]),
            max_steps=STEPS,
            seed=sampling.seed,
            stop_threshold=sampling.stop_threshold,
        )

    return generate()


def joined(parts: list[MelPart]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([part.mel for part in parts]), np.concatenate([part.alignment for part in parts])


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("xla", [False, True])
def test_parts_are_what_the_model_gives_as_a_whole_whatever_the_padding(model: XTTS, xla: bool) -> None:
    generator = Generator(model, xla=xla)
    for tokens, crop, seed in PROMPTS[:1] if xla else PROMPTS:  # compiling takes seconds
        given, sampling = prompt(tokens, crop=crop, seed=seed), Sampling(seed=seed, stop_threshold=1.0)
        expected = whole(model, given, sampling=sampling, xla=xla)
        parts = list(generator.parts(given, sampling=sampling, max_steps=STEPS))
        mel, alignment = joined(parts)
        np.testing.assert_allclose(mel, expected.mel[0], atol=2e-3)
        np.testing.assert_allclose(alignment, expected.alignment[0], atol=1e-4)
        assert not any(part.has_ended for part in parts)
    assert generator.programs == 3  # for caches of 4, 16 and 64 steps


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_speech_ends_at_the_predicted_end_and_not_later(model: XTTS) -> None:
    generator, given = Generator(model, xla=False), prompt(6, crop=9)
    for threshold in np.linspace(0.4, 0.6, 5):
        sampling = Sampling(seed=7, stop_threshold=float(threshold))
        expected = whole(model, given, sampling=sampling, xla=False)
        parts = list(generator.parts(given, sampling=sampling, max_steps=STEPS))
        assert len(joined(parts)[1]) == int(expected.steps[0])
        assert [part.has_ended for part in parts] == [*[False] * (len(parts) - 1), bool(expected.stopped[0])]


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_the_first_part_comes_before_the_second_is_spoken(model: XTTS) -> None:
    generator = Generator(model, xla=False)
    parts = generator.parts(prompt(6, crop=9), sampling=Sampling(stop_threshold=1.0), max_steps=10**9)
    first = list(itertools.islice(parts, 3))
    assert [len(part.mel) for part in first] == [2 * R] * 3


@pytest.mark.parametrize(("tokens", "size"), [(1, 64), (64, 64), (65, 256), (257, 1024)])
def test_texts_are_padded_to_few_sizes(tokens: int, size: int) -> None:
    assert padded_size(tokens) == size
