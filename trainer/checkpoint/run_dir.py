"""The folder of a run: its description `run.json`, its vocabulary and its lock."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pydantic
import tensorflow as tf

from shared.dataset import Contract, Dataset, Sha256, contract_differences
from shared.errors import UserError, writing
from shared.files import write_bytes, write_json
from shared.locks import write_lock
from shared.storage_path import StoragePath
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import Progress, load_checkpoint
from trainer.checkpoint.checkpoint_files import (
    CheckpointFile,
    best_checkpoint_path,
    exported_weights_path,
    list_checkpoints,
    remove_leftovers,
    run_info_path,
)
from trainer.config.model_config import CHANGEABLE
from trainer.config.train_config import TrainConfig
from trainer.data.plan import BucketLimit
from trainer.data.reference_length import NOT_STORED, ReferenceLength
from trainer.data.speech_pace import SpeechPace
from trainer.model.xtts import XTTS


class RunInfo(pydantic.BaseModel):
    """The content of `RUN/run.json`."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    config: TrainConfig
    planned_steps: int  # for which the buckets were chosen; raising `steps` later keeps the order of batches
    contract: Contract
    vocabulary_sha256: Sha256
    ceilings: tuple[BucketLimit, ...] = ()  # limits on buckets that did not fit into memory
    devices: int = 1  # that shared each batch at the last start
    lengths: ReferenceLength = NOT_STORED
    paces: dict[str, SpeechPace] = {}  # by language; default: not stored
    extra_pieces: dict[int, str] = {}  # by NLLB id: known from the model that the run began with, not in the dataset

    @classmethod
    def of(cls, config: TrainConfig, *, dataset: Dataset) -> RunInfo:
        """Return the description of a new run."""
        return cls(
            config=config,
            planned_steps=config.steps,
            contract=dataset.info.contract.acoustic,
            vocabulary_sha256=dataset.info.vocabulary_sha256,
            lengths=ReferenceLength.of(dataset, max_frames=config.input.max_frames, reference=config.input.reference),
            paces=SpeechPace.by_language(dataset, max_frames=config.input.max_frames),
        )


def read_run_info(run: Path) -> RunInfo:
    """Read the description of an existing run or export.

    Raises:
        UserError: there is none, or it is damaged or cannot be read.
    """
    path = run_info_path(run)
    try:
        return RunInfo.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); expected a readable file") from error
    except pydantic.ValidationError as error:
        raise UserError(f"{path}: damaged ({error.errors()[0]['msg']}); train into another RUN") from error


def prepare_run_info(run: Path, *, config: TrainConfig, dataset: Dataset) -> RunInfo:
    """Return the run's new description, after checking that an existing run has the same model and dataset contract.

    A run without a checkpoint begins as it is asked to now. It keeps the limits of its buckets if its settings need the
    same memory: several hosts are started again after a bucket did not fit.

    Raises:
        UserError: the folder holds a run of another model, dataset contract or vocabulary, or with other frozen parts,
            or an export.
    """
    if exported_weights_path(run).is_file():
        raise UserError(
            f"{run}: an export, which training cannot continue; train into another RUN, with init_from={run}"
        )
    info = RunInfo.of(config, dataset=dataset)
    if not (run / "run.json").exists():
        return info
    old = read_run_info(run)
    if not (list_checkpoints(run) or best_checkpoint_path(run).is_file()):
        return info.model_copy(
            update={"ceilings": old.ceilings if _memory_settings(old) == _memory_settings(info) else ()}
        )
    _check_same(old, info, run=run, data=dataset.layout.root)
    _check_frozen(old, info, run=run)
    kept = {name: getattr(old, name) for name in ("planned_steps", "ceilings", "devices", "extra_pieces")}
    paces = {name: pace.merged_with(old.paces.get(name)) for name, pace in info.paces.items()}
    measured = {"lengths": info.lengths.merged_with(old.lengths), "paces": old.paces | paces}
    return info.model_copy(update=kept | measured)


def run_vocabulary(info: RunInfo, *, dataset: Dataset) -> Vocabulary:
    """The vocabulary of a run's model: the dataset's, and the tokens of the model that the run began with."""
    return Vocabulary({**info.extra_pieces, **Vocabulary.load(dataset.layout.vocabulary).by_id})


def write_run_files(run: Path, info: RunInfo, *, dataset: Dataset) -> None:
    """Write the description and the vocabulary into the run's folder, which is created if absent.

    Raises:
        UserError: the folder is not writable.
    """
    with writing(run, advice="expected a writable folder for the run"):
        run.mkdir(parents=True, exist_ok=True)
        write_json(run / "run.json", info)
        write_bytes(run / "vocab.json", run_vocabulary(info, dataset=dataset).to_json())


def add_bucket_limit(run: Path, ceiling: BucketLimit) -> RunInfo:
    """Store the limit of a bucket that did not fit into memory, so that later sessions use the same plan."""
    return set_bucket_limits(run, (*read_run_info(run).ceilings, ceiling))


def set_bucket_limits(run: Path, ceilings: tuple[BucketLimit, ...]) -> RunInfo:
    """Store these limits of buckets in the place of all others."""
    info = read_run_info(run).model_copy(update={"ceilings": ceilings})
    with writing(run / "run.json", advice="free disk space and run the same command again"):
        write_json(run / "run.json", info)
    return info


@contextlib.contextmanager
def training_lock(run: Path, *, break_lock: bool) -> Iterator[None]:
    """Lock the run for one training process on any machine, and remove what a killed one left behind.

    Args:
        break_lock: take the lock although it is held, because its holder is gone.

    Raises:
        UserError: another process holds the lock.
    """
    with write_lock(run, command="train", break_lock=break_lock, on_any_host=True):
        remove_leftovers(run)
        yield


def _check_same(old: RunInfo, new: RunInfo, *, run: Path, data: StoragePath) -> None:
    if differences := contract_differences(old.contract, new.contract):
        fields = "; ".join(f"{key} is {there}, the run has {here}" for key, (here, there) in differences.items())
        raise UserError(
            f"{data}: mels or tokens differ from those that {run} was trained on: {fields}; use another RUN"
        )
    if old.vocabulary_sha256 != new.vocabulary_sha256:
        raise UserError(
            f"{run}: trained with another vocabulary than that of {data}; train into another RUN, which may begin with "
            f"its weights: init_from={run}"
        )
    of_run, asked = _weight_settings(old), _weight_settings(new)
    if changed := [name for name in of_run if of_run[name] != asked[name]]:
        fields = ", ".join(f"model.{name} is {of_run[name]}, the config has {asked[name]}" for name in changed)
        raise UserError(f"{run}: holds another model: {fields}; train into another RUN")


def _check_frozen(old: RunInfo, new: RunInfo, *, run: Path) -> None:
    frozen = [", ".join(info.config.rate_factors.frozen) or "nothing" for info in (old, new)]
    if frozen[0] != frozen[1]:
        raise UserError(
            f"{run}: froze {frozen[0]}, rate_factors would now freeze {frozen[1]}; train into another RUN, with "
            f"init_from={run}"
        )


def _memory_settings(info: RunInfo) -> dict[str, object]:
    """Return the settings that determine how much memory a batch needs."""
    config = info.config.model_dump(include={"model": True, "input": True, "optimizer": {"microbatches"}, "loss": True})
    return config | {"contract": info.contract.fingerprint, "vocabulary": info.vocabulary_sha256}


def _weight_settings(info: RunInfo) -> dict[str, object]:
    """Return the model settings that determine the weights and their meaning."""
    return info.config.model.model_dump(exclude=CHANGEABLE)


def build_model(config: TrainConfig, *, contract: Contract, vocabulary: Vocabulary) -> XTTS:
    """Build the model of a run, with fresh weights, and let products of float32 be as precise as its config says."""
    tf.config.experimental.enable_tensor_float_32_execution(config.model.tensor_float_32)
    spec = contract.features
    return XTTS(config.model, vocabulary_size=len(vocabulary), n_mels=spec.n_mels, log_silence=spec.log_silence)


def load_trained_model(run: Path, saved: CheckpointFile, *, info: RunInfo) -> tuple[XTTS, Progress]:
    """Load the model of a checkpoint, with the EMA weights if it has them, and the run's progress.

    Raises:
        UserError: the checkpoint is damaged, or belongs to another model.
    """
    model = build_model(info.config, contract=info.contract, vocabulary=Vocabulary.load(run / "vocab.json"))
    return model, load_checkpoint(saved.path, model=model, contract=info.contract.fingerprint)
