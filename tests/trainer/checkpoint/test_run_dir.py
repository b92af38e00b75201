"""The folder of a run: which runs may be resumed in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import PRESETS
from shared.lock_holder import LockHolder
from shared.locks import write_lock
from trainer.checkpoint.checkpoint_files import best_checkpoint_path, checkpoint_path
from trainer.checkpoint.run_dir import (
    RunInfo,
    add_bucket_limit,
    prepare_run_info,
    read_run_info,
    training_lock,
    write_run_files,
)
from trainer.config.model_config import ModelConfig
from trainer.config.train_config import TrainConfig
from trainer.data.plan import BucketLimit

CONFIG = TrainConfig(model=ModelConfig(size="pico"))


def enter(run: Path, *, config: TrainConfig, dataset: Dataset) -> RunInfo:
    """Prepare and write the run's files, as training does."""
    info = prepare_run_info(run, config=config, dataset=dataset)
    write_run_files(run, info, dataset=dataset)
    return info


@pytest.fixture
def run(dataset: Dataset, tmp_path: Path) -> Path:
    """Return a run that has a checkpoint."""
    enter(tmp_path / "run", config=CONFIG, dataset=dataset)
    saved = checkpoint_path(tmp_path / "run", step=1)
    saved.parent.mkdir()
    saved.touch()
    return tmp_path / "run"


def with_info(dataset: Dataset, **changed: object) -> Dataset:
    return dataset._replace(info=dataset.info.model_copy(update=changed))


def test_a_run_stores_its_config_contract_and_vocabulary(run: Path, dataset: Dataset) -> None:
    info = read_run_info(run)
    assert info.config == CONFIG
    assert info.contract == dataset.info.contract
    assert (run / "vocab.json").read_bytes() == dataset.layout.vocabulary.read_bytes()


def test_a_run_may_be_resumed_with_other_training_settings(run: Path, dataset: Dataset) -> None:
    changeable = {"precision": "float32", "dropout": 0.3, "crop_frames": 100, "rematerialise": True}
    model = ModelConfig.model_validate({"size": "pico", "reference_dropout": 0.3, **changeable})
    changed = CONFIG.model_copy(update={"steps": 5, "model": model})
    enter(run, config=changed, dataset=dataset)
    assert read_run_info(run).config == changed


def test_more_steps_do_not_change_the_buckets(run: Path, dataset: Dataset) -> None:
    """The buckets determine the order of batches, so they stay when `steps` is raised."""
    longer = CONFIG.model_copy(update={"steps": 10 * CONFIG.steps})
    info = enter(run, config=longer, dataset=dataset)
    assert info == read_run_info(run)
    assert info.planned_steps == CONFIG.steps


def test_another_contract_is_refused_with_both_values_of_each_field(run: Path, dataset: Dataset) -> None:
    contract = dataset.info.contract.model_copy(update={"features": PRESETS["bigvgan-24k-100"]})
    with pytest.raises(
        UserError, match=r"features\.sample_rate_hz is 24000, the run has 22050; .*another RUN"
    ) as found:
        enter(run, config=CONFIG, dataset=with_info(dataset, contract=contract))
    assert "features.n_mels is 100, the run has 80" in str(found.value)
    assert "hop_samples" not in str(found.value)  # alike in both


def test_a_run_keeps_the_limits_of_its_buckets(run: Path, dataset: Dataset) -> None:
    limit = BucketLimit(1, 872, 56)
    add_bucket_limit(run, limit)
    in_parts = CONFIG.model_copy(update={"optimizer": CONFIG.optimizer.model_copy(update={"microbatches": 2})})
    assert enter(run, config=in_parts, dataset=dataset).ceilings == (limit,)


def test_a_run_that_never_trained_keeps_its_limits_for_the_same_settings(run: Path, dataset: Dataset) -> None:
    """Several hosts are started again after a bucket did not fit."""
    checkpoint_path(run, step=1).unlink()
    limit = BucketLimit(1, 872, 56)
    add_bucket_limit(run, limit)
    longer = CONFIG.model_copy(update={"steps": 10 * CONFIG.steps})
    assert enter(run, config=longer, dataset=dataset).ceilings == (limit,)
    in_parts = CONFIG.model_copy(update={"optimizer": CONFIG.optimizer.model_copy(update={"microbatches": 2})})
    assert enter(run, config=in_parts, dataset=dataset).ceilings == ()


def test_a_copy_of_a_run_with_its_best_checkpoint_alone_is_protected_too(run: Path, dataset: Dataset) -> None:
    checkpoint_path(run, step=1).rename(best_checkpoint_path(run))
    with pytest.raises(UserError, match="holds another model"):
        enter(run, config=TrainConfig(model=ModelConfig(size="tiny")), dataset=dataset)


def test_a_run_that_never_trained_begins_as_it_is_asked_to_now(run: Path, dataset: Dataset) -> None:
    checkpoint_path(run, step=1).unlink()
    smaller = TrainConfig(model=ModelConfig(size="tiny"))
    assert enter(run, config=smaller, dataset=with_info(dataset, vocabulary_sha256="0" * 64)).config == smaller


def test_another_vocabulary_is_refused(run: Path, dataset: Dataset) -> None:
    with pytest.raises(UserError, match=rf"another vocabulary.*another RUN.* init_from={run}$"):
        enter(run, config=CONFIG, dataset=with_info(dataset, vocabulary_sha256="0" * 64))


def test_the_tokenizer_may_have_moved(run: Path, dataset: Dataset) -> None:
    tokenizer = dataset.info.contract.tokenizer.model_copy(update={"location": "elsewhere/tokenizer.json"})
    contract = dataset.info.contract.model_copy(update={"tokenizer": tokenizer})
    enter(run, config=CONFIG, dataset=with_info(dataset, contract=contract))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"size": "tiny"}, "model.size is pico, the config has tiny"),
        ({"frames_per_step": 2}, "model.frames_per_step is 4, the config has 2"),
    ],
)
def test_another_model_is_refused_by_the_settings_that_differ(
    run: Path, dataset: Dataset, changed: dict, told: str
) -> None:
    other = TrainConfig(model=ModelConfig(**{"size": "pico", **changed}))
    with pytest.raises(UserError, match=f": holds another model: {told}; train into another RUN$"):
        enter(run, config=other, dataset=dataset)
    assert read_run_info(run).config == CONFIG


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null", b'{"config": null}', b'{"config": {"steps": "many"}}']
)
def test_a_damaged_description_is_named_and_not_overwritten(run: Path, dataset: Dataset, content: bytes) -> None:
    (run / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json: damaged"):
        enter(run, config=CONFIG, dataset=dataset)
    assert (run / "run.json").read_bytes() == content


def test_a_key_of_another_version_is_reported_as_damage(run: Path) -> None:
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, "new": 1}))
    with pytest.raises(UserError, match=r"run\.json: damaged"):
        read_run_info(run)


def test_a_run_without_stored_lengths_uses_whole_crops(run: Path, dataset: Dataset) -> None:
    document = json.loads((run / "run.json").read_text())
    noted = document.pop("lengths")
    (run / "run.json").write_text(json.dumps(document))
    assert read_run_info(run).lengths.reference_frames([1, 9_000], crop_frames=256).numpy().tolist() == [256, 256]
    assert enter(run, config=CONFIG, dataset=dataset).lengths.model_dump() == noted


def test_a_run_without_stored_paces_gets_them_when_it_is_resumed(run: Path, dataset: Dataset) -> None:
    document = json.loads((run / "run.json").read_text())
    noted, french = document.pop("paces"), {"min_frames_per_token": 1.0, "max_frames_per_token": 2.0}
    assert noted.keys() == {"deu_Latn", "eng_Latn", "pes_Arab"}
    (run / "run.json").write_text(json.dumps(document | {"paces": {"fra_Latn": french}}))
    resumed = enter(run, config=CONFIG, dataset=dataset).model_dump()["paces"]
    assert resumed == noted | {"fra_Latn": french}


def test_a_run_resumed_with_shorter_clips_keeps_its_lengths(run: Path, dataset: Dataset) -> None:
    noted = read_run_info(run).lengths
    shorter = CONFIG.model_copy(update={"input": CONFIG.input.model_copy(update={"max_frames": 150})})
    assert RunInfo.of(shorter, dataset=dataset).lengths.tokens < noted.tokens
    assert enter(run, config=shorter, dataset=dataset).lengths.tokens == noted.tokens


def test_a_missing_run_is_reported_with_the_command_that_creates_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="make train RUN="):
        read_run_info(tmp_path / "nowhere")


def test_a_file_in_place_of_the_run_folder_is_reported(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(UserError, match="cannot be written"):
        enter(tmp_path / "run", config=CONFIG, dataset=dataset)


HOLDER = """
import sys, time
from pathlib import Path
from trainer.checkpoint.run_dir import training_lock
with training_lock(Path(sys.argv[1]), break_lock=False):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_two_processes_cannot_train_in_one_folder_and_a_killed_one_does_not_block_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=rf"train of .*process {holder.pid}.*is writing here"):
            training_lock(tmp_path, break_lock=False).__enter__()
        holder.kill()
    (tmp_path / "checkpoints").mkdir()
    half = tmp_path / "checkpoints" / ".step-00000001.safetensors.1f.tmp"
    half.touch()
    with training_lock(tmp_path, break_lock=False):
        assert not half.exists()


def test_a_run_may_be_resumed_on_another_machine(tmp_path: Path) -> None:
    """A cluster may restart a job on another machine, or in a container with another name."""
    owner = LockHolder.of_this_process("train").model_copy(update={"host": "another"})
    (tmp_path / ".lock").write_text(owner.model_dump_json())
    with training_lock(tmp_path, break_lock=False):
        pass
    (tmp_path / ".lock").write_text(owner.model_dump_json())
    with pytest.raises(UserError, match="--break-lock"), write_lock(tmp_path, command="build"):
        pass
