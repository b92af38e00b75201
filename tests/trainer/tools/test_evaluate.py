"""`myxtts-train evaluate`: the metrics equal those of the validation in training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from shared.vocabulary import Vocabulary
from tests.trainer import device_runs
from tests.trainer.conftest import built
from tests.trainer.models import NARROW, same_for_all
from trainer.checkpoint.run_dir import RunInfo, write_run_files
from trainer.config.model_sizes import SIZES
from trainer.config.train_config import TrainConfig
from trainer.tools import evaluate as evaluation
from trainer.training import train_step as step

pytestmark = pytest.mark.filterwarnings("ignore:Even though the")


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model and the noise of those runs."""
    monkeypatch.setattr(step, "RngStream", same_for_all)
    monkeypatch.setitem(SIZES, "pico", NARROW)


def copied(run: Path, folder: Path) -> Path:
    """Other tests have the run too."""
    return Path(shutil.copytree(run, folder))


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
@pytest.mark.parametrize("devices", [1, 2])
def test_a_checkpoint_is_evaluated_as_in_training(
    on_devices: device_runs.Runs, command: Callable, tmp_path: Path, devices: int
) -> None:
    """By the average of its weights, which are others: the run has ema_decay=0.9."""
    trained = on_devices.one if devices == 1 else on_devices.two
    run, data = copied(trained, tmp_path / "run"), trained.parent / "data"
    assert json.loads((run / "run.json").read_text(encoding="utf-8"))["devices"] == devices
    wanted = device_runs.rows(run, kind="validation")[-1]
    outcome = command("evaluate", "--run", run, "--data", data, "--checkpoint", "last")
    assert outcome.code == 0, outcome.err
    assert "TensorFlow traces validation: shape 1 of 1, " in outcome.err  # the run has xla=false
    assert "synthesizing " in outcome.err
    judged = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    assert (judged["step"], judged["clips"]) == (wanted["step"], Dataset.open(data).manifest("validation").num_rows)
    found = judged["losses"] | judged["spoken"]
    assert {"loss", "mel", "kl", "flux", "stop", "guided_attention", "free_mel_distance_db"} <= found.keys()
    for name, value in found.items():
        assert value == pytest.approx(wanted[name], rel=1e-4), name
        assert f"{value:.4f}" in outcome.out
    assert f"the checkpoint, of step {wanted['step']}" in outcome.out


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_clips_of_a_test_split_are_evaluated_as_those_of_validation(
    on_devices: device_runs.Runs, command: Callable, tmp_path: Path
) -> None:
    """The same clips: those that were validation are test in another build."""
    run, data = copied(on_devices.one, tmp_path / "run"), on_devices.one.parent / "data"
    names = Dataset.open(data).manifest("validation")["utterance_id"].to_pylist()
    (tmp_path / "names.txt").write_text("\n".join(names))
    held_out = [f"held_out_for_test={tmp_path}/names.txt", "validation_fraction=0"]
    other = built(tmp_path / "data", overrides=held_out)
    judged = []
    for words in (("--data", data), ("--data", other, "--split", "test")):
        outcome = command("evaluate", "--run", run, *words)
        assert outcome.code == 0, outcome.err
        judged.append(json.loads((run / "evaluation.json").read_text(encoding="utf-8")))
    assert [one["split"] for one in judged] == ["validation", "test"]
    assert judged[0]["clips"] == judged[1]["clips"] == len(names)
    for group in ("losses", "spoken"):
        assert judged[0][group] != {}
        for name, value in judged[0][group].items():
            assert judged[1][group][name] == pytest.approx(value, rel=1e-4), name


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_data_without_a_usable_clip_are_one_line(
    on_devices: device_runs.Runs, command: Callable, tmp_path: Path
) -> None:
    run = copied(on_devices.one, tmp_path / "run")
    data = built(tmp_path / "data", overrides=["validation_fraction=0"])
    outcome = command("evaluate", "--run", run, "--data", data)
    assert outcome.code == 2
    line = "error: the validation split has no valid clip that is short enough to evaluate, or no clip at all"
    assert outcome.err.splitlines()[-1] == f"{line}; builds with validation_fraction above 0 have one"
    assert not (run / "evaluation.json").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("_narrow")
def test_full_device_memory_is_one_line_and_keeps_the_metrics_before_it(
    on_devices: device_runs.Runs, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory while trying to allocate")

    words = ("evaluate", "--run", copied(on_devices.one, tmp_path / "run"), "--data", on_devices.one.parent / "data")
    monkeypatch.setattr(evaluation.SynthesisEval, "synthesize", full)
    outcome = command(*words)
    assert outcome.code == 0, outcome.err
    assert "out of memory during synthesis: left out" in outcome.err
    judged = json.loads((tmp_path / "run" / "evaluation.json").read_text(encoding="utf-8"))
    assert judged["losses"]["loss"] > 0
    assert judged["spoken"] == {}
    monkeypatch.setattr(evaluation.EvalStep, "__call__", full)
    outcome = command(*words)
    assert outcome.code == 2
    assert "error: out of memory in bucket 3×" in outcome.err.splitlines()[-1], outcome.err


def test_a_folder_without_a_run_is_one_line(data: Path, command: Callable, tmp_path: Path) -> None:
    outcome = command("evaluate", "--run", tmp_path, "--data", data)
    assert outcome.code == 2
    assert (
        outcome.err
        == f"error: {tmp_path}: no checkpoint yet; expected a trained run; `make train RUN={tmp_path}` writes one\n"
    )


def test_data_of_another_contract_are_refused_with_both_values_of_each_field(dataset: Dataset, tmp_path: Path) -> None:
    info = RunInfo.of(TrainConfig(), dataset=dataset)
    write_run_files(tmp_path, info, dataset=dataset)
    evaluation.check_data(info, dataset=dataset, run=tmp_path)
    features = preset("bigvgan-24k-100")
    other = with_info(dataset, contract=dataset.info.contract.model_copy(update={"features": features}))
    with pytest.raises(UserError) as found:
        evaluation.check_data(info, dataset=other, run=tmp_path)
    assert "features.sample_rate_hz is 24000, the run has 22050; " in str(found.value)
    assert "hop_samples" not in str(found.value)  # alike in both
    assert "evaluate on the run's own dataset" in str(found.value)
    pieces = Vocabulary.load(dataset.layout.vocabulary).by_id
    for nllb_id in list(pieces)[-8:-5]:
        del pieces[nllb_id]
    (tmp_path / "vocab.json").write_bytes(Vocabulary(pieces).to_json())
    with pytest.raises(UserError, match=r": 3 of its tokens are unknown to .*expected the run's own dataset"):
        evaluation.check_data(info, dataset=dataset, run=tmp_path)


def with_info(dataset: Dataset, **changed: object) -> Dataset:
    return dataset._replace(info=dataset.info.model_copy(update=changed))
