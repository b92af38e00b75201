"""Micro-batches give the losses and the update of the whole batch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.microbatch_memory import PARTS
from tests.trainer.models import perturbed_narrow, random_batch, same_for_all
from tests.trainer.processes import begin, end
from trainer.config.loss_config import LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.optim.adamw import AdamW
from trainer.training import train_step as steps
from trainer.training.train_step import TrainStep

BATCH = random_batch(frames=[24, 17, 9, 24, 12], token_counts=[10, 4, 7, 8, 3], width=24, tokens=10)
LOSSES = LossConfig(mel_kind="huber")

Outcome = tuple[dict[str, np.ndarray], list[np.ndarray]]


def outcome(parts: int) -> Outcome:
    """Return the metrics of one step of a fresh model, and its moments, which equal the gradient."""
    model = perturbed_narrow()
    config = OptimizerConfig(warmup_steps=0, microbatches=parts, clip_norm=1e9)
    optimizer = AdamW(config, steps=100, variables=model.trainable_variables)
    step = TrainStep(model, optimizer, losses=LOSSES, seed=1, parts=parts, xla=False)
    values = {name: value.numpy() for name, value in step(BATCH).items()}
    return values, [one.numpy() for name, one in optimizer.state().items() if name.endswith("/momentum")]


@pytest.fixture(scope="module")
def whole() -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "RngStream", same_for_all)
        return outcome(1)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_parts_add_up_to_the_losses_and_gradients_of_the_whole(
    whole: Outcome, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With clips of unequal lengths, the mean of the parts' means would differ."""
    monkeypatch.setattr(steps, "RngStream", same_for_all)
    (values, gradients), (wanted_values, expected) = outcome(parts), whole
    for name, value in wanted_values.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-5, err_msg=name)
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=1e-3, atol=1e-5 * np.abs(other).max() + 1e-8)


@pytest.mark.slow
def test_the_gradients_norm_is_that_of_dense_gradients(whole: Outcome) -> None:
    """Embedding rows that occur twice in a batch count as their sum."""
    values, momenta = whole
    gradients = [momentum / (1 - OptimizerConfig().beta_1) for momentum in momenta]
    norm = np.sqrt(sum(np.sum(np.square(gradient.astype(np.float64))) for gradient in gradients))
    np.testing.assert_allclose(values["gradient_norm"], norm, rtol=1e-4)


@pytest.mark.soak
def test_memory_for_activations_is_that_of_a_part(tmp_path: Path) -> None:
    """Micro-batches need a second copy of the gradients, which is small here."""
    ended = end(begin([sys.executable, "-m", "tests.trainer.microbatch_memory", tmp_path]), within_s=900)
    assert ended.code == 0, ended.err[-3000:]
    whole_bytes, parts_bytes = json.loads(ended.out).values()
    print(f"buffers of a step: {whole_bytes / 2**20:.1f} MiB, in {PARTS[1]} parts {parts_bytes / 2**20:.1f} MiB")
    assert parts_bytes < 1.5 * whole_bytes / PARTS[1]
