"""The losses, compared with numpy implementations of the paper's formulas."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import M, random_mel
from trainer.config.loss_config import GuidedAttentionConfig, LossConfig
from trainer.model.decoder import Decoded
from trainer.training.losses import (
    Target,
    flux_loss,
    guided_attention_loss,
    guided_attention_weight,
    kl_loss,
    loss_terms,
    loss_weights,
    masked_mean,
    mel_loss,
    stop_loss,
    weighted_sum,
)

B, F, R = 4, 12, 4
FRAMES = np.array([12, 7, 1, 0])
RANDOM = np.random.default_rng(3)
VALID = np.arange(F)[None, :] < FRAMES[:, None]
MEL, MEAN, COARSE, REFINED = (random_mel(B, F, seed=seed) for seed in range(4))
LOG_VARIANCE = RANDOM.uniform(-3, 1, (B, F, M)).astype(np.float32)
STOP = RANDOM.normal(size=(B, F // R)).astype(np.float32)
T, COUNTS = 5, np.array([5, 3, 1, 0])
ALIGNMENT = RANDOM.dirichlet(np.ones(T), (B, F // R)).astype(np.float32)
ON_TOKENS = ALIGNMENT * (np.arange(T) < COUNTS[:, None])[:, None, :]
HEARD = np.zeros((B, F), bool)
HEARD[0, 4:9] = HEARD[1, 0:3] = True


def decoded(**changed: np.ndarray) -> Decoded:
    values = {
        "mean": MEAN,
        "log_variance": LOG_VARIANCE,
        "coarse": COARSE,
        "refined": REFINED,
        "stop_logits": STOP,
        "alignment": ALIGNMENT,
        "mel": np.zeros((B, F, M), np.float32),
    }
    return Decoded(**{name: tf.constant(value) for name, value in (values | changed).items()})


def losses(
    output: Decoded,
    *,
    mel: np.ndarray = MEL,
    frames: np.ndarray = FRAMES,
    config: LossConfig = LossConfig(),  # noqa: B008 (immutable)
) -> dict[str, float]:
    target = Target(tf.constant(mel), tf.constant(frames, tf.int32), tf.constant(COUNTS, tf.int32), tf.constant(HEARD))
    terms = loss_terms(output, target=target, config=config)
    terms["loss"] = weighted_sum(terms, loss_weights(config, step=tf.constant(0)))
    return {name: float(value) for name, value in terms.items()}


def test_mel_loss_is_mean_l1_plus_l2_over_valid_frames() -> None:
    expected = np.mean(np.abs(COARSE - MEL)[VALID]) + np.mean(((COARSE - MEL) ** 2)[VALID])
    assert float(mel_loss(COARSE, MEL, VALID, config=LossConfig())) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("delta", [0.5, 1.0, 3.0])
def test_huber_loss_is_that_of_keras(delta: float) -> None:
    config = LossConfig(mel_kind="huber", huber_delta=delta)
    expected = keras.losses.Huber(delta=delta)(MEL[VALID], COARSE[VALID])
    assert float(mel_loss(COARSE, MEL, VALID, config=config)) == pytest.approx(float(expected), rel=1e-5)


def test_kl_is_the_divergence_by_monte_carlo() -> None:
    mean, log_variance, target = 0.7, -1.1, -0.4
    z = mean + np.exp(log_variance / 2) * np.random.default_rng(0).normal(size=1_000_000)
    log_q = -0.5 * ((z - mean) ** 2 / np.exp(log_variance) + log_variance)
    log_p = -0.5 * (z - target) ** 2
    found = kl_loss(*(tf.constant([[[value]]]) for value in (mean, log_variance, target)), tf.constant([[True]]))
    assert float(found) == pytest.approx(np.mean(log_q - log_p), abs=5e-3)


def test_kl_is_zero_for_the_prior_itself() -> None:
    assert float(kl_loss(MEL, np.zeros_like(MEL), MEL, VALID)) == pytest.approx(0.0, abs=1e-6)


def test_flux_compares_each_mean_with_the_true_frame_before_it() -> None:
    terms = [
        -np.abs(MEAN[row, frame] - MEL[row, frame - 1])
        for row in range(B)
        for frame in range(1, F)
        if VALID[row, frame]
    ]
    assert float(flux_loss(MEAN, MEL, VALID)) == pytest.approx(np.mean(terms), rel=1e-5)


def stop_entropy(*, positive_weight: float) -> float:
    terms = []
    for row, frames in enumerate(FRAMES):
        for step in range(-(-frames // R)):
            probability = 1 / (1 + np.exp(-STOP[row, step]))
            last = step == -(-frames // R) - 1
            terms.append(-positive_weight * np.log(probability) if last else -np.log(1 - probability))
    return float(np.mean(terms))


def test_stop_is_a_weighted_cross_entropy_up_to_the_last_step() -> None:
    found = stop_loss(tf.constant(STOP), tf.constant(-(-FRAMES // R), tf.int32), positive_weight=5.0)
    assert float(found) == pytest.approx(stop_entropy(positive_weight=5.0), rel=1e-5)


def guided(alignment: np.ndarray, *, width: float = 0.2) -> float:
    steps, counts = (tf.constant(value, tf.int32) for value in (-(-FRAMES // R), COUNTS))
    return float(guided_attention_loss(tf.constant(alignment), steps, counts, width=width))


def share_off_the_diagonal(*, width: float) -> float:
    terms = []
    for row, frames in enumerate(FRAMES):
        steps = -(-frames // R)
        for n in range(steps):
            off = [1 - np.exp(-((n / steps - t / COUNTS[row]) ** 2) / (2 * width**2)) for t in range(COUNTS[row])]
            terms.append(np.dot(ALIGNMENT[row, n, : COUNTS[row]], off))
    return float(np.mean(terms))


def test_guided_attention_is_the_share_off_the_diagonal_of_true_lengths() -> None:
    assert guided(ON_TOKENS, width=0.3) == pytest.approx(share_off_the_diagonal(width=0.3), rel=1e-5)


def test_guided_attention_is_small_on_the_diagonal_and_nearly_1_in_the_wrong_corner() -> None:
    diagonal, wrong = np.zeros((2, B, F // R, T), np.float32)
    for row, frames in enumerate(FRAMES):
        for n in range(-(-frames // R)):
            diagonal[row, n, round(n / -(-frames // R) * COUNTS[row])] = 1
            wrong[row, n, COUNTS[row] - 1 if n == 0 else 0] = 1
    assert guided(diagonal, width=0.2) < 0.15
    assert guided(wrong, width=0.05) > 0.7


def test_the_guided_attention_weight_stays_falls_and_ends() -> None:
    config = GuidedAttentionConfig(weight=4.0, full_steps=100, decay_steps=200)
    found = [
        float(guided_attention_weight(config, step=tf.constant(step, tf.int64)))
        for step in (0, 100, 150, 299, 300, 10**6)
    ]
    assert found == pytest.approx([4.0, 4.0, 3.0, 0.02, 0.0, 0.0])
    assert float(guided_attention_weight(config, step=None)) == 0.0


def test_validation_logs_guided_attention_with_weight_zero() -> None:
    early, late = (loss_weights(LossConfig(), step=step) for step in (tf.constant(0), None))
    assert (float(early.pop("guided_attention")), float(late.pop("guided_attention"))) == (5.0, 0.0)
    assert early == late


def test_each_term_has_the_weight_that_its_field_says() -> None:
    given = {"mel": 0.9, "kl": 0.8, "flux": 0.7, "stop": 0.6}
    config = LossConfig(**given, guided_attention=GuidedAttentionConfig(weight=0.5))
    found = {name: float(weight) for name, weight in loss_weights(config, step=tf.constant(0)).items()}
    assert found == pytest.approx({**given, "guided_attention": 0.5})


def test_each_term_is_of_the_output_and_with_the_options_that_it_should_be() -> None:
    config = LossConfig(
        mel_kind="huber",
        huber_delta=0.5,
        stop_positive_weight=3.0,
        guided_attention=GuidedAttentionConfig(width=0.35),
    )
    counted, variance = VALID & ~HEARD, np.exp(LOG_VARIANCE)
    sizes = [np.abs(one - MEL)[counted] for one in (COARSE, REFINED)]
    found = losses(decoded(alignment=ON_TOKENS), config=config)
    del found["loss"]
    assert found == pytest.approx(
        {
            "mel": sum(np.mean(np.where(size < 0.5, size**2 / 2, size / 2 - 0.125)) for size in sizes),
            "kl": np.mean((variance + (MEAN - MEL) ** 2 - 1 - LOG_VARIANCE)[counted]) / 2,
            "flux": -np.mean(np.abs(MEAN[:, 1:] - MEL[:, :-1])[counted[:, 1:] & counted[:, :-1]]),
            "stop": stop_entropy(positive_weight=3.0),
            "guided_attention": share_off_the_diagonal(width=0.35),
        },
        rel=1e-5,
    )


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    found = losses(decoded())
    expected = found["mel"] + 0.1 * found["kl"] + 0.02 * found["flux"] + 0.5 * found["stop"]
    expected += 5.0 * found["guided_attention"]
    assert found["loss"] == pytest.approx(expected, rel=1e-5)


def test_targets_of_heard_frames_and_padding_do_not_matter() -> None:
    ignored = (HEARD | ~VALID)[:, :, None]
    assert losses(decoded(), mel=np.where(ignored, MEL + 5.0, MEL)) == losses(decoded())


def test_outputs_for_heard_frames_and_padding_do_not_matter() -> None:
    ignored = (HEARD | ~VALID)[:, :, None]
    steps = np.arange(F // R)[None, :] > (FRAMES[:, None] - 1) // R
    changed = decoded(
        mean=np.where(ignored, 99.0, MEAN).astype(np.float32),
        log_variance=np.where(ignored, 3.9, LOG_VARIANCE).astype(np.float32),
        coarse=np.where(ignored, 99.0, COARSE).astype(np.float32),
        refined=np.where(ignored, 99.0, REFINED).astype(np.float32),
        stop_logits=np.where(steps, 99.0, STOP).astype(np.float32),
        alignment=np.where(steps[:, :, None], 99.0, ALIGNMENT).astype(np.float32),
        mel=np.full((B, F, M), 99.0, np.float32),
    )
    assert losses(changed) == losses(decoded())


def test_each_remaining_output_matters() -> None:
    assert losses(decoded(coarse=COARSE + 1))["mel"] != losses(decoded())["mel"]
    assert losses(decoded(refined=REFINED + 1))["mel"] != losses(decoded())["mel"]
    assert losses(decoded(mean=MEAN + 1))["flux"] != losses(decoded())["flux"]
    assert losses(decoded(log_variance=LOG_VARIANCE + 1))["kl"] != losses(decoded())["kl"]
    turned = losses(decoded(alignment=ALIGNMENT[:, :, ::-1].copy()))
    assert turned["guided_attention"] != losses(decoded())["guided_attention"]


def test_a_batch_of_empty_rows_has_no_loss() -> None:
    assert set(losses(decoded(), frames=np.zeros(B, int)).values()) == {0.0}


def test_an_empty_row_adds_nothing() -> None:
    short = Decoded(*(value[:3] for value in decoded()))
    target = Target(
        *(tf.constant(value[:3]) for value in (MEL, FRAMES.astype(np.int32), COUNTS.astype(np.int32), HEARD))
    )
    without = loss_terms(short, target=target, config=LossConfig())
    found = losses(decoded())
    del found["loss"]
    assert found == pytest.approx({name: float(value) for name, value in without.items()}, rel=1e-6)


def test_masked_mean_ignores_what_is_no_number_where_it_is_not_valid() -> None:
    values = np.where(VALID[:, :, None], MEL, np.nan)
    assert float(masked_mean(tf.constant(values), VALID)) == pytest.approx(np.mean(MEL[VALID]), rel=1e-5)
