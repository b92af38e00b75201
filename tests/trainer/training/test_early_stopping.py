"""Plateaus in a run: learning-rate actions, their reasons and early stopping, also after a resumption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.numpy

from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.training import validation
from trainer.training.validation import ValidationResult

pytestmark = [pytest.mark.filterwarnings("ignore:Even though the"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch, op_by_op: None) -> None:
    """Make every validation return the same loss."""
    monkeypatch.setattr(
        validation, "evaluate_batches", lambda batches, *, step, losses: ValidationResult({"loss": 1.0}, {})
    )


def test_a_run_lowers_its_rate_at_a_plateau_and_ends_at_the_last_also_when_it_was_interrupted(
    command: Callable, data: Path, tmp_path: Path
) -> None:
    def train(steps: int) -> str:
        settings = ["input.global_frames_per_batch=400", "validate_every=1", "log_every=100", f"steps={steps}"]
        plateau = "plateau={patience: 2, cooldown: 0, max_reductions: 1, factor: 0.25}"
        words = ["train", "configs/train_sample.yaml", *settings, plateau]
        outcome = command(*words, "--data", str(data), "--run", str(tmp_path))
        assert outcome.code == 0, outcome.err
        return " ".join(outcome.err.split())

    assert "plateau" not in train(2)  # the best one and one after it
    said = train(9)
    assert "step 3: plateau: in 2 validations no loss 0.2% below the best, 1.0000 (the last one 1.0000)" in said
    assert "the learning rate is lowered to 0.25 of what it was (action 1 of 1)" in said
    assert "after 1 actions: the run ends" in said
    saved = list_checkpoints(tmp_path)[-1]
    assert saved.step == 5
    arrays = safetensors.numpy.load_file(saved.path)
    assert float(arrays["optimizer/rate_scale"]) == 0.25
