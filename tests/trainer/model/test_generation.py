"""Speaking freely: against decoding without a cache, alone and among others, with and without a voice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import SILENCE, M, perturbed_narrow, random_mel, random_tokens
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS, Generated

B, T, C, R = 3, 8, 12, 4
MAX_STEPS = 7
# of mels and alignments; bfloat16 has 8 bits, and moves both so far from those of float32
TOLERANCES = {"float32": (2e-3, 1e-4), "bfloat16": (0.3, 0.01)}
COUNTS = [T, 3, 5]


class Stacked(RngStream):
    """The draws of decoding step by step, for all steps at once: [1, N, ...] of [1, 1, ...] each."""

    trains = True

    def __init__(self, steps: int, *, seed: int):
        self._steps = [RngStream(seed=seed, step=tf.constant(step), rows_alike=True) for step in range(steps)]

    def _each(self, draw: Callable[[RngStream], tf.Tensor]) -> tf.Tensor:
        return tf.concat([draw(noise) for noise in self._steps], 1)

    def advanced(self, _: int) -> RngStream:
        return self

    def skip(self, _: int) -> None:
        """Step by step blocks draw nothing, and nothing is set aside for them."""

    def uniform(self, shape: tf.Tensor) -> tf.Tensor:
        return self._each(lambda noise: noise.uniform([1, 1, *shape[2:]]))

    def uniform_uint16(self, shape: tf.Tensor) -> tf.Tensor:
        return self._each(lambda noise: noise.uniform_uint16([1, 1, *shape[2:]]))

    def normal(self, shape: tf.Tensor) -> tf.Tensor:
        return self._each(lambda noise: noise.normal([1, shape[1] // len(self._steps), *shape[2:]]))


def inputs(rows: list[int], *, crop_frames: list[int] | None = None) -> dict:
    return {
        "tokens": tf.gather(random_tokens(B, T), rows),
        "token_counts": tf.gather(COUNTS, rows),
        "crop": tf.gather(random_mel(B, C, seed=1), rows),
        "crop_frames": tf.gather(crop_frames or [C, 5, 9], rows),
    }


def generate(
    model: XTTS, rows: list[int], *, threshold: float | tf.Tensor = 1.0, seed: int = 3, **changed: object
) -> Generated:
    given = {"max_steps": MAX_STEPS, **inputs(rows), **changed}
    return model.generate(given.pop("tokens"), seed=seed, stop_threshold=threshold, **given)


@pytest.fixture(scope="module")
def model(models: Callable[..., XTTS]) -> XTTS:
    return models(R, dropout=0.0, precision="float32")


@pytest.fixture(params=TOLERANCES)
def precise(models: Callable[..., XTTS], request: pytest.FixtureRequest) -> XTTS:
    """In each of two precisions."""
    return models(R, dropout=0.0, precision=request.param)


def check_that_it_is_the_same(found: tuple[tf.Tensor, ...], wanted: tuple[tf.Tensor, ...], *, precision: str) -> None:
    """Mel and alignment, as far as a precision tells."""
    for one, other, tolerance in zip(found, wanted, TOLERANCES[precision], strict=True):
        assert one.dtype == other.dtype == tf.float32
        np.testing.assert_allclose(one, other, atol=tolerance)
        assert np.abs(one - other).mean() < tolerance / 10


def threshold_that_separates(model: XTTS) -> float:
    """One by which the clips of a batch end at different steps."""
    probabilities = tf.sigmoid(uncached(model, list(range(B)))[1]).numpy()
    for threshold in np.sort(probabilities[:, : MAX_STEPS - 1].max(axis=1)):
        passed = [np.flatnonzero(row > threshold * 0.999) for row in probabilities]
        steps = {int(row[0]) if len(row) else MAX_STEPS for row in passed}
        if len(steps) > 1:
            return float(threshold * 0.999)
    raise AssertionError(probabilities)


def uncached(model: XTTS, rows: list[int]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Mel, stop logits and alignment of so many steps, the whole past decoded anew for each."""
    given = inputs(rows)
    memory = model.encode_memory(
        given["tokens"], given["token_counts"], model.encode_reference(given["crop"], given["crop_frames"])
    )
    spoken = np.zeros([len(rows), MAX_STEPS * R, M], np.float32)
    for step in range(MAX_STEPS):
        decoded = model.decoder(tf.constant(spoken), memory, noise=Stacked(MAX_STEPS, seed=3))
        frames = slice(step * R, (step + 1) * R)
        spoken[:, frames] = decoded.coarse[:, frames]
    return decoded.mel, decoded.stop_logits, decoded.alignment


@pytest.mark.slow
def test_generation_equals_decoding_without_a_cache(precise: XTTS) -> None:
    generated, (mel, _, alignment) = generate(precise, [0, 1, 2]), uncached(precise, [0, 1, 2])
    assert generated.steps.numpy().tolist() == [MAX_STEPS] * B
    found = (generated.mel, generated.alignment)
    check_that_it_is_the_same(found, (mel, alignment), precision=precise.config.precision)


@pytest.mark.slow
def test_speech_in_bfloat16_is_that_of_float32_but_for_its_rounding(models: Callable[..., XTTS]) -> None:
    rounded, exact = (generate(models(R, dropout=0.0, precision=one), [0, 1, 2]) for one in ("bfloat16", "float32"))
    found, wanted = ((one.mel, one.alignment) for one in (rounded, exact))
    check_that_it_is_the_same(found, wanted, precision="bfloat16")
    assert np.abs(rounded.mel - exact.mel).max() > TOLERANCES["float32"][0]


@pytest.mark.slow
@pytest.mark.parametrize("parts", [[MAX_STEPS], [1] * MAX_STEPS, [2, 1, MAX_STEPS - 3]])
def test_parts_of_any_sizes_give_what_one_part_of_all_steps_gives(model: XTTS, parts: list[int]) -> None:
    threshold = threshold_that_separates(model)
    whole, given = generate(model, [0, 1, 2], threshold=threshold), inputs([0, 1, 2])
    voice = model.encode_reference(given["crop"], given["crop_frames"])
    memory, state = model.encode_memory(given["tokens"], given["token_counts"], voice), None
    mels, alignments = [], []
    for steps in parts:
        state = state or model.begin_generation(*memory.text_mask.shape, steps=MAX_STEPS)
        mel, alignment, state = model.continue_generation(memory, state, steps=steps, seed=3, stop_threshold=threshold)
        mels.append(mel)
        alignments.append(alignment)
    np.testing.assert_allclose(np.concatenate(mels, 1), whole.mel, atol=1e-5)
    np.testing.assert_allclose(np.concatenate(alignments, 1), whole.alignment, atol=1e-6)
    assert state.steps.numpy().tolist() == whole.steps.numpy().tolist()
    assert state.stopped.numpy().tolist() == whole.stopped.numpy().tolist()


@pytest.mark.slow
def test_each_clip_ends_at_its_own_stop_and_is_silent_while_others_go_on(model: XTTS) -> None:
    threshold = threshold_that_separates(model)
    mel, logits, _ = uncached(model, [0, 1, 2])
    stops = tf.sigmoid(logits).numpy() > threshold
    expected = [int(np.argmax(row)) + 1 if row.any() else MAX_STEPS for row in stops]
    generated = generate(model, [0, 1, 2], threshold=threshold)
    assert len(set(expected)) > 1
    assert generated.steps.numpy().tolist() == expected
    assert generated.stopped.numpy().tolist() == stops.any(1).tolist()
    for row, steps in enumerate(expected):
        np.testing.assert_allclose(generated.mel[row, : steps * R], mel[row, : steps * R], atol=2e-3)
        assert (generated.mel[row, steps * R :].numpy() == np.float32(SILENCE)).all()
        np.testing.assert_allclose(
            generated.alignment[row].numpy().sum(axis=1), np.arange(MAX_STEPS) < steps, atol=1e-4
        )


@pytest.mark.slow
def test_an_end_that_is_predicted_in_the_last_step_allowed_is_one(model: XTTS) -> None:
    generated = generate(model, [0, 1, 2], threshold=0.0)
    assert generated.steps.numpy().tolist() == [1, 1, 1]
    assert generated.stopped.numpy().all()
    once = generate(model, [0, 1, 2], threshold=0.0, max_steps=1)
    assert once.stopped.numpy().all()
    assert not generate(model, [0, 1, 2], threshold=1.0, max_steps=1).stopped.numpy().any()


@pytest.mark.slow
def test_a_clip_sounds_the_same_alone_and_anywhere_in_a_batch(precise: XTTS) -> None:
    together = generate(precise, [0, 1, 2])
    for rows in ([1], [2, 0]):
        apart = generate(precise, rows)
        wanted = tuple(tf.gather(one, rows) for one in (together.mel, together.alignment))
        check_that_it_is_the_same((apart.mel, apart.alignment), wanted, precision=precise.config.precision)


@pytest.mark.slow
def test_more_padding_of_tokens_and_crop_changes_nothing(model: XTTS) -> None:
    given = inputs([1, 2])
    padded = generate(
        model,
        [1, 2],
        tokens=tf.pad(given["tokens"], [[0, 0], [0, 3]], constant_values=7),
        crop=tf.pad(given["crop"], [[0, 0], [0, 5], [0, 0]], constant_values=9.0),
    )
    np.testing.assert_allclose(padded.mel, generate(model, [1, 2]).mel, atol=2e-3)


@pytest.mark.slow
def test_another_seed_speaks_otherwise_and_the_same_seed_alike(model: XTTS) -> None:
    first, again, other = (generate(model, [0], seed=seed).mel.numpy() for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-2


@pytest.mark.slow
def test_without_a_reference_the_crop_does_not_matter_and_speech_is_another(model: XTTS) -> None:
    none = tf.constant([0])
    silent, other = (generate(model, [0], crop=random_mel(1, C, seed=seed), crop_frames=none).mel for seed in (1, 2))
    np.testing.assert_array_equal(silent, other)
    assert np.isfinite(silent).all()
    assert np.abs(silent - generate(model, [0]).mel).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=pytest.mark.soak)])
def test_compiled_generation_stops_where_eager_generation_does(precision: str) -> None:
    """At thresholds that no random number crosses, since XLA draws other numbers than eager execution."""
    model = perturbed_narrow(dropout=0.0, precision=precision)
    compiled = tf.function(lambda threshold: generate(model, [0, 1], threshold=threshold), jit_compile=True)
    for threshold, steps in ((0.0, 1), (1.0, MAX_STEPS)):
        spoken = compiled(tf.constant(threshold))
        assert spoken.steps.numpy().tolist() == [steps, steps]
        assert spoken.mel.shape == (2, MAX_STEPS * R, M)
        assert (spoken.mel[:, steps * R :].numpy() == np.float32(SILENCE)).all()
