"""`myxtts-train vocoder mels`: the mel of each clip is what the model predicts for that clip alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.vocabulary import Vocabulary
from tests.trainer.conftest import built
from tests.trainer.models import NARROW, same_for_all
from trainer.checkpoint.checkpoint import Progress, Snapshot, copy_to_host, named_variables, write_checkpoint
from trainer.checkpoint.run_dir import build_model, prepare_run_info, write_run_files
from trainer.config.data_config import InputConfig
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.config.train_config import TrainConfig
from trainer.data.position import Position
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS
from trainer.training import train_step
from trainer.training.train_step import EvalStep
from trainer.vocoder_training.predicted_mels import mel_path

LONGEST = 160  # frames; some clips of the sample have more
CONFIG = TrainConfig(
    model=ModelConfig(size="pico", precision="float32", crop_frames=24),
    input=InputConfig(buckets=2, global_frames_per_batch=800, max_frames=LONGEST, validation_clips=1),
    xla=False,
)
ONE_BATCH = CONFIG.model_copy(update={"input": InputConfig(buckets=1, global_frames_per_batch=20_000)})

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Even though the")]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small model, whose random numbers are the same for each clip and each batch."""
    monkeypatch.setattr(train_step, "RngStream", lambda **source: same_for_all(**{**source, "step": tf.constant(0)}))
    monkeypatch.setitem(SIZES, "pico", NARROW)


def make_run(run: Path, *, dataset: Dataset, config: TrainConfig) -> XTTS:
    """The run of a model whose weights are random."""
    write_run_files(run, prepare_run_info(run, config=config, dataset=dataset), dataset=dataset)
    contract = dataset.info.contract
    model = build_model(config, contract=contract, vocabulary=Vocabulary.load(dataset.layout.vocabulary))
    random = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign_add(random.normal(0.0, 0.05, variable.shape).astype(np.float32))
    model.decoder.set_statistics(mean=list(dataset.info.mel.mean), std=list(dataset.info.mel.std))
    snapshot = Snapshot(copy_to_host(named_variables(model)), Progress(5, Position(), "order"), contract.fingerprint)
    write_checkpoint(run, snapshot, max_to_keep=1)
    return model


def predicted_alone(model: XTTS, dataset: Dataset, *, utterance_id: str) -> np.ndarray:
    """The mel of a clip that is a batch by itself, from the standardised output."""
    record = dataset.record(utterance_id)
    table, step = Vocabulary.load(dataset.layout.vocabulary).table(), model.config.frames_per_step
    missing = -record.frames % step
    silence = dataset.info.contract.features.log_silence
    batch = {
        "mel": tf.constant(np.pad(record.mel, [(0, missing), (0, 0)], constant_values=silence)[None]),
        "frames": tf.constant([record.frames]),
        "tokens": tf.constant(table[list(record.tokens)][None]),
        "token_counts": tf.constant([len(record.tokens)]),
    }
    evaluated = EvalStep(model, losses=CONFIG.loss, seed=CONFIG.seed, xla=False)(batch)
    statistics = dataset.info.mel
    return evaluated.decoded.refined[0, : record.frames].numpy() * statistics.std + statistics.mean


def test_each_mel_is_what_the_model_predicts_for_the_clip_alone(
    dataset: Dataset, command: Callable, tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "mels"
    model = make_run(run, dataset=dataset, config=CONFIG)
    outcome = command("vocoder", "mels", run, "--data", dataset.layout.root, "--out", out)
    assert outcome.code == 0, outcome.err
    rows = [row for split in ("train", "validation") for row in dataset.manifest(split).to_pylist()]
    expected = {row["utterance_id"]: row["frames"] for row in rows if row["frames"] <= LONGEST}
    assert 0 < len(expected) < len(rows)
    assert f"the mels of {len(expected)} clips, predicted by {run}, the checkpoint, of step 5" in outcome.out
    assert "left out of train, longer than input.max_frames: " in outcome.err
    found = {path.relative_to(out) for path in out.rglob("*.npy")}
    assert found == {mel_path(out, utterance_id=name).relative_to(out) for name in expected}
    for name, frames in expected.items():
        mel = np.load(mel_path(out, utterance_id=name))
        assert mel.dtype == np.float16
        assert mel.shape == (frames, 80)
    for name in [*expected][::20]:
        mel = np.load(mel_path(out, utterance_id=name))
        np.testing.assert_allclose(mel, predicted_alone(model, dataset, utterance_id=name), atol=0.02)


@pytest.mark.usefixtures("op_by_op")
def test_clips_of_other_batches_are_predicted_with_other_noise(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(
        train_step, "RngStream", lambda **source: seen.append(int(source["step"])) or RngStream(**source)
    )
    model = build_model(CONFIG, contract=dataset.info.contract, vocabulary=Vocabulary.load(dataset.layout.vocabulary))
    for draws_by_batch in (True, False):
        step = EvalStep(model, losses=CONFIG.loss, seed=1, xla=False, draws_by_batch=draws_by_batch)
        for row in (5, 9):
            batch = {
                "mel": tf.zeros([1, 16, 80]),
                "frames": tf.constant([16]),
                "tokens": tf.constant([[1, 2]]),
                "token_counts": tf.constant([2]),
                "rows": tf.constant([row], tf.int64),
            }
            step(batch)
    assert seen == [5, 9, 0, 0]


@pytest.mark.usefixtures("op_by_op")
def test_a_folder_is_continued_by_its_own_checkpoint_alone(dataset: Dataset, command: Callable, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "mels"
    make_run(run, dataset=dataset, config=ONE_BATCH)
    words = ["vocoder", "mels", run, "--data", dataset.layout.root, "--out"]
    out.mkdir()
    (out / "mels.json").write_text("{}")
    outcome = command(*words, out)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].endswith("not that of predicted mels, which `make vocoder-mels` writes")
    outcome = command(*words, dataset.layout.root)
    assert "not empty, and no predicted mels; choose a new folder" in outcome.err
    shutil.rmtree(out)
    assert command(*words, out).code == 0
    first = {path: path.read_bytes() for path in out.rglob("*.npy")}
    lost = next(iter(first))
    lost.unlink()
    assert command(*words, out).code == 0
    assert {path: path.read_bytes() for path in out.rglob("*.npy")} == first
    state = json.loads((out / "mels.json").read_text())
    (out / "mels.json").write_text(json.dumps({**state, "checkpoint_sha256": "0" * 64}))
    outcome = command(*words, out)
    assert outcome.code == 2
    assert f"holds the mels that {run}, step 5 predicted, of this or another dataset; choose" in outcome.err


@pytest.mark.usefixtures("op_by_op")
def test_a_dataset_of_the_same_corpus_without_mels_gives_the_same_mels(
    dataset: Dataset, command: Callable, tmp_path: Path
) -> None:
    run, data = tmp_path / "run", built(tmp_path / "data", overrides=["mel_dtype=none", "max_rejected_fraction=1"])
    make_run(run, dataset=dataset, config=ONE_BATCH)
    for name, root in (("stored", dataset.layout.root), ("computed", data)):
        outcome = command("vocoder", "mels", run, "--data", root, "--out", tmp_path / name)
        assert outcome.code == 0, outcome.err
    paths = [path.relative_to(tmp_path / "computed") for path in (tmp_path / "computed").rglob("*.npy")]
    assert paths
    for path in paths:
        one, other = (np.load(tmp_path / name / path).astype(np.float32) for name in ("stored", "computed"))
        np.testing.assert_allclose(one, other, atol=0.05)
