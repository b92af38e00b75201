"""A run whose numbers are none any more: it stops, and leaves no such numbers behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from trainer.checkpoints import saved_checkpoints


@pytest.fixture
def _uncompiled() -> Iterator[None]:
    """Steps without XLA: a few of them take less time than a compilation."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.filterwarnings("ignore:Even though the")
@pytest.mark.usefixtures("_uncompiled")
@pytest.mark.parametrize("log_every", [1, 100])
def test_no_checkpoint_holds_what_is_no_number(command: Callable, data: Path, tmp_path: Path, log_every: int) -> None:
    overrides = ("optimizer.learning_rate=1e36", "optimizer.warmup_steps=0", f"log_every={log_every}", "steps=8")
    outcome = command(
        *("train", "configs/train_sample.yaml", *overrides, "checkpoint_every=1", "input.frames_per_batch=400"),
        *("--data", data, "--run", tmp_path / "run"),
    )
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("error: ")
    assert "nan" in outcome.err or "inf" in outcome.err
    for saved in saved_checkpoints(tmp_path / "run"):
        arrays = safetensors.numpy.load_file(saved.path)
        assert [name for name, array in arrays.items() if not np.isfinite(array).all()] == [], saved.step
