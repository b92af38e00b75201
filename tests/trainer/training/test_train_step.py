"""The training step: its random draws, its loss weights, and the frames that count."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from shared.errors import UserError
from tests.trainer.models import perturbed_narrow, random_batch, teacher_force
from trainer.config.loss_config import GuidedAttentionConfig, LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.model.rng import UINT16_VALUES, RngStream
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.training import train_step as steps
from trainer.training.train_step import StepInputs, TrainStep, count_terms, forward_loss, prepare_inputs

R = 4


def batch() -> dict:
    return random_batch(frames=[24, 17, 9, 16], token_counts=[10, 4, 7, 6], width=24, tokens=10)


def stepping(model: XTTS, *, losses: LossConfig = LossConfig(), seed: int = 1, parts: int = 1) -> TrainStep:  # noqa: B008 (immutable)
    """Return a step whose learning rate is nearly 0."""
    optimizer = AdamW(OptimizerConfig(learning_rate=1e-12), steps=100, variables=model.trainable_variables)
    return TrainStep(model, optimizer, losses=losses, seed=seed, parts=parts, xla=False)


def test_every_step_seed_replica_and_part_has_draws_of_its_own() -> None:
    optimizer = AdamW(OptimizerConfig(), steps=100, variables=[])
    drawn = []
    for seed, step in itertools.product((1, 2), (0, 1)):
        optimizer.iterations.assign(step)
        made = TrainStep(None, optimizer, losses=LossConfig(), seed=seed, parts=2)  # type: ignore[arg-type]
        drawn += [made._noise(*place).normal([8]).numpy() for place in itertools.product(range(3), range(3))]
    for one, other in itertools.combinations(drawn, 2):
        assert np.abs(one - other).max() > 1e-3


class Placed(RngStream):
    """RngStream whose values show the place that drew them."""

    trains = True

    def __init__(self, *, place: tf.Tensor | int, **_: object):
        self._value = 0.9 - tf.cast(place, tf.float32) / 4.0

    def uniform(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        return tf.fill(shape, self._value)

    def uniform_uint16(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        return tf.cast(tf.fill(shape, tf.cast(UINT16_VALUES * self._value, tf.int32)), tf.uint16)

    def normal(self, shape: tf.Tensor | list[int]) -> tf.Tensor:
        return tf.fill(shape, self._value)

    def advanced(self, _: int) -> RngStream:
        return self

    def skip(self, _: int) -> None:
        """All draws are equal."""


@pytest.mark.slow
def test_each_part_of_a_batch_is_judged_by_its_own_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with each part alone; the whole batch's crop comes from place 0, the parts from places 1 and 2."""
    monkeypatch.setattr(steps, "RngStream", Placed)
    model, losses, given = perturbed_narrow(), LossConfig(), batch()
    found = stepping(model, parts=2)(given)
    inputs = prepare_inputs(model, given, noise=Placed(place=0))
    counts, expected = count_terms(model, inputs), 0.0
    for number in (0, 1):
        part: StepInputs = tf.nest.map_structure(lambda rows, first=number: rows[first::2], inputs)
        noise = Placed(place=1 + number)
        _, terms = forward_loss(model, part, losses=losses, step=tf.constant(0), noise=noise, of=counts)
        expected += float(terms["loss"])
    assert float(found["loss"]) == pytest.approx(expected, rel=1e-4)


@pytest.fixture(scope="module")
def guided() -> TrainStep:
    """A loss of guided attention alone, with full weight at the first two steps and none at the fourth."""
    config = GuidedAttentionConfig(weight=4.0, full_steps=1, decay_steps=2)
    return stepping(perturbed_narrow(), losses=LossConfig(mel=0, kl=0, flux=0, stop=0, guided_attention=config))


@pytest.mark.slow
def test_the_guidance_of_attention_falls_from_step_to_step_and_each_draws_anew(guided: TrainStep) -> None:
    found = [guided(batch()) for _ in range(4)]
    weights = [float(values["loss"]) / float(values["guided_attention"]) for values in found]
    np.testing.assert_allclose(weights, [4.0, 4.0, 2.0, 0.0], rtol=1e-5)
    assert len({float(values["mel"]) for values in found}) == 4


@pytest.mark.slow
def test_a_step_counts_the_frames_and_clips_of_its_batch(guided: TrainStep) -> None:
    given = {**batch(), "frames": tf.constant([24, 0, 9, 16])}
    assert guided(given)["counts"].numpy().tolist() == [49.0, 3.0]


def test_the_frames_of_the_crop_are_left_out_of_the_loss(narrow_models: Callable[..., XTTS]) -> None:
    """Compare with numpy. Without noise the crop is the first half of a clip, at most 16 frames here; the three frames
    after it share samples with it."""
    model, given = narrow_models(R), batch()
    decoded, losses = teacher_force(model, given, losses=LossConfig(), step=None, noise=None)
    target = model.decoder.standardise(given["mel"]).numpy()
    counted = np.zeros(target.shape[:2], bool)
    for row, frames in enumerate(given["frames"].numpy()):
        counted[row, min(frames // 2, 16) + 3 : frames] = True
    sizes = [np.abs(one.numpy() - target)[counted] for one in (decoded.coarse, decoded.refined)]
    assert float(losses["mel"]) == pytest.approx(sum(np.mean(size + size**2) for size in sizes), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("noisy", [False, True])
def test_more_padding_and_another_order_of_clips_give_the_same_losses(
    narrow_models: Callable[..., XTTS], noisy: bool
) -> None:
    model, given, order = narrow_models(R, dropout=0.0), batch(), [2, 0, 3, 1]
    shuffled = {name: tf.gather(value, order) for name, value in given.items()}
    padded = {
        **given,
        "mel": tf.pad(given["mel"], [[0, 0], [0, 2 * R], [0, 0]]),
        "tokens": tf.pad(given["tokens"], [[0, 0], [0, 5]]),
    }

    def judged(one: dict) -> dict[str, float]:
        noise = Constant() if noisy else None
        _, losses = teacher_force(model, one, losses=LossConfig(), step=tf.constant(0), noise=noise)
        return {name: float(value) for name, value in losses.items()}

    plain = judged(given)
    assert judged(shuffled) == pytest.approx(plain, rel=1e-4)
    assert judged(padded) == pytest.approx(plain, rel=1e-4)


class Constant(Placed):
    """Return the same value for every draw."""

    def __init__(self) -> None:
        super().__init__(place=0)


def test_weights_that_adapt_go_with_whole_batches_alone() -> None:
    several = types.SimpleNamespace(num_replicas_in_sync=2)
    for shared in ({"parts": 2}, {"strategy": several}):
        with pytest.raises(UserError, match=r"loss\.adaptive: .*optimizer\.microbatches=1 and one device"):
            TrainStep(None, None, losses=LossConfig(adaptive=True), seed=1, **shared)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("fails", "is_updating"), [("_program", False), ("_update", True)])
def test_a_failed_step_reports_whether_it_was_in_its_update(
    guided: TrainStep, monkeypatch: pytest.MonkeyPatch, fails: str, is_updating: bool
) -> None:
    def fail(*_: object) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

    with monkeypatch.context() as amid:
        amid.setattr(guided, fails, fail)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            guided(batch())
    assert guided.is_updating == is_updating
    guided(batch())
    assert (guided.is_updating, guided.has_updated) == (False, True)
