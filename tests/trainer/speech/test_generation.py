"""Speaking in parts by programs of fixed shapes: what the model gives as a whole, by one program for all texts."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import perturbed_narrow, random_mel, random_tokens
from trainer.model.rng import RngStream
from trainer.model.text_guide import END_POSITIONS, MAX_MOVE
from trainer.model.xtts import XTTS, Generated
from trainer.speech import generation
from trainer.speech.generation import Generator, MelPart, Prompt, Sampling, join_parts, padded_size

R, CROP_FRAMES, STEPS, TAIL_STEPS, FRAMES_PER_SECOND = 4, 16, 21, 5, 86.0
PROMPTS = [(5, 9, 1), (8, 0, 2), (3, 16, 3)]  # tokens, frames of the crop, seed


@pytest.fixture(scope="module")
def model() -> XTTS:
    return perturbed_narrow(dropout=0.0)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches that grow twice within STEPS."""
    monkeypatch.setattr(generation, "PART_STEPS", 2)
    monkeypatch.setattr(generation, "CACHE_STEPS", 4)
    monkeypatch.setattr(generation, "MIN_TOKENS", 8)


class Given(NamedTuple):
    """A text, and a crop of a voice."""

    tokens: np.ndarray
    crop: np.ndarray

    def prompt(self, generator: Generator, *, max_steps: int = STEPS, min_steps: int = 0) -> Prompt:
        voice = generator.encode_voice([self.crop] if len(self.crop) else [])
        return Prompt(self.tokens, voice, max_steps=max_steps, min_steps=min_steps, max_tail_steps=TAIL_STEPS)


def given_text(tokens: int, *, crop: int, seed: int = 0) -> Given:
    return Given(np.array(random_tokens(tokens, seed=seed)), random_mel(crop, seed=seed))


def whole(model: XTTS, given: Given, *, sampling: Sampling, xla: bool) -> Generated:
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
@pytest.mark.parametrize("xla", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_parts_are_what_the_model_gives_as_a_whole_whatever_the_padding(model: XTTS, xla: bool) -> None:
    generator = Generator(model, xla=xla, frames_per_second=FRAMES_PER_SECOND)
    for tokens, crop, seed in PROMPTS[:1] if xla else PROMPTS:  # compiling takes seconds
        given, sampling = (
            given_text(tokens, crop=crop, seed=seed),
            Sampling(seed=seed, stop_threshold=1.0, is_guided=False),
        )
        expected = whole(model, given, sampling=sampling, xla=xla)
        parts = list(generator.parts(given.prompt(generator), sampling=sampling))
        mel, alignment = joined(parts)
        np.testing.assert_allclose(mel, expected.mel[0], atol=2e-3)
        np.testing.assert_allclose(alignment, expected.alignment[0], atol=1e-4)
        assert not any(part.has_ended for part in parts)
    assert generator.programs == 3  # for caches of 4, 16 and 64 steps


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_speech_ends_at_the_predicted_end_and_not_later(model: XTTS) -> None:
    generator, given = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND), given_text(6, crop=9)
    for threshold in np.linspace(0.4, 0.6, 5):
        sampling = Sampling(seed=7, stop_threshold=float(threshold), is_guided=False)
        expected = whole(model, given, sampling=sampling, xla=False)
        parts = list(generator.parts(given.prompt(generator), sampling=sampling))
        assert len(joined(parts)[1]) == int(expected.steps[0])
        assert [part.has_ended for part in parts] == [*[False] * (len(parts) - 1), bool(expected.stopped[0])]


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_the_first_part_comes_before_the_second_is_spoken(model: XTTS) -> None:
    generator = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND)
    prompt = given_text(6, crop=9).prompt(generator, max_steps=10**9)
    parts = generator.parts(prompt, sampling=Sampling(stop_threshold=1.0, is_guided=False))
    first = list(itertools.islice(parts, 3))
    assert [len(part.mel) for part in first] == [2 * R] * 3


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_no_step_is_computed_beyond_the_most_steps_of_the_longest_text(
    model: XTTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part has two steps; without a bound within the program, the last one would compute both."""
    generator, positions = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND), []
    continued = generator._continue

    def counted(*given: Any) -> Any:
        found = continued(*given)
        positions.append(int(found[2].position))
        return found

    monkeypatch.setattr(generator, "_continue", counted)
    never = Sampling(stop_threshold=1.0, is_guided=False)
    prompts = [given_text(6, crop=9).prompt(generator, max_steps=steps) for steps in (3, 5)]
    spoken = generator.speak(prompts, sampling=never)
    assert positions == [2, 4, 5]
    assert [len(one.mel) for one in spoken] == [3 * R, 5 * R]
    assert not any(one.has_ended for one in spoken)


@pytest.mark.slow
@pytest.mark.parametrize(("xla", "is_guided"), [(False, False), (True, True)])
def test_texts_of_a_batch_are_spoken_as_each_one_alone(model: XTTS, xla: bool, is_guided: bool) -> None:
    generator, threshold = Generator(model, xla=xla, frames_per_second=FRAMES_PER_SECOND), 0.505
    given = [given_text(tokens, crop=crop, seed=seed).prompt(generator) for tokens, crop, seed in PROMPTS]
    sampling = Sampling(seed=7, stop_threshold=threshold, is_guided=is_guided)
    together = generator.speak(given, sampling=sampling)
    assert len(given) == 3, "a row of four is padding"
    alone = [join_parts(list(generator.parts(one, sampling=sampling))) for one in given]
    assert len({len(one.mel) for one in alone}) > 1, "all rows end at once, which shows nothing"
    for one, other in zip(together, alone, strict=True):
        assert (one.has_ended, one.mel.shape) == (other.has_ended, other.mel.shape)
        np.testing.assert_allclose(one.mel, other.mel, atol=2e-3)
        np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-4)
    assert generator.programs == 2


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_guided_speech_ends_near_the_end_of_the_text_and_not_before_its_least_length(model: XTTS) -> None:
    generator, given = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND), given_text(8, crop=9)
    always = Sampling(seed=7, stop_threshold=0.0)  # at each step the end is predicted
    unguided = generator.speak([given.prompt(generator)], sampling=always._replace(is_guided=False))[0]
    assert len(unguided.alignment) == 1
    for min_steps in (0, 15):
        prompt = given.prompt(generator, max_steps=60, min_steps=min_steps)
        (spoken,) = generator.speak([prompt], sampling=always)
        focus = np.zeros(1, int)
        for attended in spoken.alignment.argmax(1):
            focus = np.append(focus, np.clip(attended, focus[-1], focus[-1] + MAX_MOVE))
        assert spoken.has_ended
        assert focus[-1] >= 8 - END_POSITIONS
        assert len(spoken.alignment) >= min_steps
    never = Sampling(seed=7, stop_threshold=1.0)
    (spoken,) = generator.speak([given.prompt(generator, max_steps=200)], sampling=never)
    assert not spoken.has_ended
    assert len(spoken.alignment) < 200


@pytest.mark.slow
def test_a_voice_is_the_mean_of_the_encodings_of_its_crops(model: XTTS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "VOICE_ROWS", 2)
    generator = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND)
    crops = [random_mel(frames, seed=frames) for frames in (16, 5, 9)]
    alone = [generator.encode_voice([crop]) for crop in crops]
    for part, parts in zip(generator.encode_voice(crops), zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(part, np.mean(parts, 0), atol=1e-5)


@pytest.mark.parametrize(("tokens", "size"), [(1, 64), (64, 64), (65, 256), (257, 1024)])
def test_texts_are_padded_to_few_sizes(tokens: int, size: int) -> None:
    assert padded_size(tokens) == size


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_guidance_leads_each_mean_away_from_speech_without_a_voice(model: XTTS) -> None:
    """Compared with two decoders side by side, one with the voice and one without."""
    generator = Generator(model, xla=False, frames_per_second=FRAMES_PER_SECOND)
    prompt, scale, steps = given_text(5, crop=9, seed=1).prompt(generator, max_steps=4), 2.5, 4
    sampling = Sampling(seed=4, temperature=0.0, stop_threshold=1.0, is_guided=False, guidance=scale)
    found = generator.speak([prompt], sampling=sampling)[0].mel
    both = [
        model.encode_memory(tf.constant(prompt.tokens[None]), tf.constant([5]), voice)
        for voice in (prompt.voice, generator.encode_voice([]))
    ]
    caches = [model.decoder.empty_cache(1, steps=steps) for _ in both]
    previous, means = tf.zeros([1, R, model.n_mels]), []
    for number in range(steps):
        position = tf.constant(number)
        taken = [
            model.decoder.step(previous, memory, cache, position, RngStream(seed=4, step=position, rows_alike=True))
            for memory, cache in zip(both, caches, strict=True)
        ]
        caches = [cache for _, cache in taken]
        (with_voice, without) = (step.mean for step, _ in taken)
        means.append(without + scale * (with_voice - without))
        previous = model.decoder.latent_mlp(means[-1])
    _, refined = model.decoder.postnet(tf.concat(means, 1))
    np.testing.assert_allclose(found, model.decoder.unstandardise(refined)[0], atol=2e-3)
    several = generator.speak([prompt, given_text(8, crop=16, seed=2).prompt(generator)], sampling=sampling)
    np.testing.assert_allclose(several[0].mel[: len(found)], found, atol=2e-3)
