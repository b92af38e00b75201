"""What validation judges: the network that speaks, the same way each time, all batches as if they were one."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import random_batch, smallest, teacher_force
from trainer.losses import LossConfig
from trainer.model.decoder import LOG_VARIANCE_RANGE, within
from trainer.step import Evaluated, EvaluationStep
from trainer.validation import validate

BATCH = random_batch(frames=[24, 17], token_counts=[6, 4], width=24, tokens=6)


def terms(*, seed: int = 1, **options: object) -> dict[str, float]:
    evaluated = EvaluationStep(smallest(**options), losses=LossConfig(), seed=seed)(BATCH)
    return {name: float(term) for name, term in evaluated.terms.items()}


@pytest.mark.usefixtures("op_by_op")
def test_evaluation_drops_the_pre_net_and_samples_but_nothing_that_is_dropped_in_training_alone() -> None:
    found = terms()
    assert terms() == found
    assert terms(dropout=0.5) == found
    assert terms(reference_dropout=0.9) == found
    assert terms(seed=2) != found
    without = teacher_force(smallest(), BATCH, losses=LossConfig(), step=None, noise=None)[1]
    assert abs(found["mel"] - float(without["mel"])) > 1e-3


def test_validation_is_a_mean_over_things_and_not_over_batches() -> None:
    rng = np.random.default_rng(0)
    things = {name: [rng.uniform(size=size) for size in (3, 50, 1)] for name in ("mel", "kl", "flux", "stop")}
    things["guided_attention"] = [rng.uniform(size=size) for size in (7, 2, 5)]
    decoded = teacher_force(smallest(), BATCH, losses=LossConfig(), step=None, noise=None)[0]
    evaluated = [
        Evaluated(
            {name: tf.constant(each[number].mean()) for name, each in things.items()},
            {name: tf.constant(float(len(each[number]))) for name, each in things.items()},
            decoded,
        )
        for number in range(3)
    ]
    losses = LossConfig(kl=0.3)
    validated = validate([BATCH] * 3, step=lambda _: evaluated.pop(), losses=losses)
    assert validated is not None
    means = {name: np.concatenate(each).mean() for name, each in things.items()}
    wanted = {**means, "loss": means["mel"] + 0.3 * means["kl"] + 0.02 * means["flux"] + 0.5 * means["stop"]}
    assert validated.losses == pytest.approx(wanted)
    assert validate([], step=lambda _: evaluated.pop(), losses=losses) is None


def test_a_log_variance_out_of_its_range_is_led_back_into_it() -> None:
    low, high = LOG_VARIANCE_RANGE
    values = tf.constant([-40.0, low - 1.0, -3.0, 0.0, 1.0, high + 1.0, 40.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        bent = within(values, low, high)
    slopes = tape.gradient(bent, values).numpy()
    assert (bent.numpy() >= low).all()
    assert (bent.numpy() <= high).all()
    assert (np.diff(bent) >= 0).all()
    np.testing.assert_allclose(bent[2:5], values[2:5], atol=0.06)
    assert (slopes[1:-1] > 0.2).all()
