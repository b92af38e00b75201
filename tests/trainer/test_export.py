"""An exported model, loaded by TensorFlow alone in a process that cannot import this code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from shared.dataset import Dataset
from shared.vocabulary import Vocabulary
from trainer.checkpoints import Progress, Snapshot, copy_arrays, named_state, write_checkpoint
from trainer.config import TrainConfig
from trainer.input.stream import Position
from trainer.model.xtts import XTTS, ModelConfig
from trainer.run import enter_run, make_model

pytestmark = pytest.mark.slow

STRANGER = """
import sys, numpy as np, tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1]).signatures["synthesize"]
given = np.load(sys.argv[2])
said = loaded(tokens=tf.constant(given["tokens"]), crop=tf.constant(given["crop"]), seed=tf.constant(7))
assert not {"trainer", "shared"} & set(sys.modules)
np.savez(sys.argv[3], **{name: value.numpy() for name, value in said.items()})
"""


@pytest.fixture
def trained_model(dataset: Dataset, tmp_path: Path) -> XTTS:
    """The model of a run with a checkpoint, weights moved off their start."""
    config = TrainConfig(model=ModelConfig(size="pico", precision="float32", crop_frames=24))
    enter_run(tmp_path / "run", config=config, dataset=dataset)
    contract = dataset.info.contract
    model = make_model(config, contract=contract, vocabulary=Vocabulary.load(dataset.layout.vocabulary))
    random = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign_add(random.normal(0.0, 0.02, variable.shape).astype(np.float32))
    arrays = copy_arrays(named_state(model))
    snapshot = Snapshot(arrays, Progress(5, Position(), "order"), contract.fingerprint)
    write_checkpoint(tmp_path / "run", snapshot, kept=1, is_best=False)
    return model


def test_a_saved_model_says_the_same_without_this_code(trained_model: XTTS, command: Callable, tmp_path: Path) -> None:
    outcome = command(
        "export", "--run", tmp_path / "run", "--out", tmp_path / "out", "--seconds", "0.5", "--tokens", "24"
    )
    assert outcome.code == 0, outcome.err
    random = np.random.default_rng(4)
    tokens = random.integers(1, 30, [1, 11]).astype(np.int32)
    crop = random.normal(-5.0, 2.0, [1, 16, 80]).astype(np.float32)
    np.savez(tmp_path / "given.npz", tokens=tokens, crop=crop)
    words = [sys.executable, "-c", STRANGER, *map(str, (tmp_path / "out" / "saved_model", tmp_path / "given.npz"))]
    ended = subprocess.run([*words, str(tmp_path / "said.npz")], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    said = np.load(tmp_path / "said.npz")
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    here = trained_model.generate(
        tf.constant(tokens),
        token_counts=tf.constant([11]),
        crop=tf.constant(crop),
        crop_frames=tf.constant([16]),
        max_steps=config["max_steps"],
        seed=7,
    )
    steps = int(here.steps[0])
    assert said["steps"].tolist() == [steps]
    assert said["alignment"].shape == (1, steps, 11)
    np.testing.assert_allclose(said["mel"], here.mel[:, : steps * 4], atol=1e-3)
    weights = safetensors.numpy.load_file(tmp_path / "out" / "weights.safetensors")
    assert {name: array.tobytes() for name, array in weights.items()} == {
        name: np.asarray(variable).tobytes() for name, variable in named_state(trained_model).items()
    }


def test_a_run_without_checkpoint_is_told(command: Callable, tmp_path: Path) -> None:
    outcome = command("export", "--run", tmp_path, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert "no run here" in outcome.err
