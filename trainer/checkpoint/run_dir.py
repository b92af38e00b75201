"""A run's folder: what its weights belong to, and who trains in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pydantic

from shared.dataset import Contract, Dataset, Sha256, contract_differences
from shared.errors import UserError
from shared.files import write_bytes, write_json
from shared.locks import write_lock
from shared.storage_path import StoragePath
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import CheckpointFile, Progress, load_checkpoint, remove_leftovers
from trainer.config.model_config import CHANGEABLE
from trainer.config.speech_bounds import MAX_TOKENS
from trainer.config.train_config import TrainConfig
from trainer.data.plan import Ceiling
from trainer.data.reference_length import UNKNOWN_PACE, Lengths
from trainer.model.xtts import XTTS


class RunInfo(pydantic.BaseModel):
    """The content of `RUN/run.json`."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    config: TrainConfig
    planned_steps: int  # those that the number of batch shapes was chosen for; more of them change no order of batches
    contract: Contract
    vocabulary_sha256: Sha256
    ceilings: tuple[Ceiling, ...] = ()  # under which the plan's buckets are
    devices: int = 1  # that share each batch, since the last start
    lengths: Lengths = Lengths(tokens=MAX_TOKENS, frames_per_token=UNKNOWN_PACE)  # where a run has not noted them yet

    @classmethod
    def of(cls, config: TrainConfig, *, dataset: Dataset) -> RunInfo:
        """What a fresh run is."""
        return cls(
            config=config,
            planned_steps=config.steps,
            contract=dataset.info.contract,
            vocabulary_sha256=dataset.info.vocabulary_sha256,
            lengths=Lengths.of(dataset, max_frames=config.input.max_frames),
        )


def read_run_info(run: Path) -> RunInfo:
    """The description of an existing run.

    Raises:
        UserError: there is none, or it is damaged.
    """
    path = run / "run.json"
    try:
        return RunInfo.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{run}: no run here ({error.strerror}: {path}); `make train RUN={run}` makes one") from error
    except pydantic.ValidationError as error:
        raise UserError(f"{path}: damaged ({error.errors()[0]['msg']}); train into another RUN") from error


def prepare_run_info(run: Path, *, config: TrainConfig, dataset: Dataset) -> RunInfo:
    """What the run is from now on, after a check that what is in the folder belongs to this model and these shards.

    Raises:
        UserError: the folder holds a run of another model, contract or vocabulary.
    """
    info = RunInfo.of(config, dataset=dataset)
    if (run / "run.json").exists():
        old = read_run_info(run)
        _check_same(old, info, run=run, data=dataset.layout.root)
        kept = {"planned_steps": old.planned_steps, "ceilings": old.ceilings, "devices": old.devices}
        info = info.model_copy(update=kept | {"lengths": info.lengths.with_older(old.lengths)})
    return info


def write_run_files(run: Path, info: RunInfo, *, dataset: Dataset) -> None:
    """Note what the run is, in a folder that is made where there is none.

    Raises:
        UserError: it is not writable.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        write_json(run / "run.json", info)
        write_bytes(run / "vocab.json", dataset.layout.vocabulary.read_bytes())
    except OSError as error:
        raise UserError(f"{run}: cannot be written ({error.strerror}); wanted a folder for the run") from error


def add_bucket_limit(run: Path, ceiling: Ceiling) -> RunInfo:
    """Note that batches were too large for memory, so that the run has the same plan from now on."""
    info = read_run_info(run)
    info = info.model_copy(update={"ceilings": (*info.ceilings, ceiling)})
    try:
        write_json(run / "run.json", info)
    except OSError as error:
        raise UserError(f"{run}/run.json: cannot be written ({error.strerror}); make room and run again") from error
    return info


@contextlib.contextmanager
def training_lock(run: Path, *, break_lock: bool) -> Iterator[None]:
    """Be the only one that trains in the folder, on whatever machine; what a killed one left is cleared away.

    Raises:
        UserError: another process is at it, or may be: `break_lock` says that it is gone.
    """
    with write_lock(run, command="train", break_lock=break_lock, on_any_host=True):
        remove_leftovers(run)
        yield


def _check_same(old: RunInfo, new: RunInfo, *, run: Path, data: StoragePath) -> None:
    if differences := contract_differences(old.contract, new.contract):
        fields = "; ".join(f"{key} is {there}, the run has {here}" for key, (here, there) in differences.items())
        raise UserError(f"{data}: other mels or tokens than {run} was trained on: {fields}; train into another RUN")
    if old.vocabulary_sha256 != new.vocabulary_sha256:
        raise UserError(f"{run} was trained with another vocabulary than that of {data}; train into another RUN")
    if _weights_of(old) != _weights_of(new):
        raise UserError(f"{run} holds another model ({old.config.model!r}); train into another RUN")


def _weights_of(info: RunInfo) -> dict[str, object]:
    """The settings of the model that decide which weights there are, and what they mean."""
    return info.config.model.model_dump(exclude=CHANGEABLE)


def build_model(config: TrainConfig, *, contract: Contract, vocabulary: Vocabulary) -> XTTS:
    """The model of a run, with fresh weights."""
    spec = contract.features
    return XTTS(config.model, vocabulary_size=len(vocabulary), n_mels=spec.n_mels, log_silence=spec.log_silence)


def load_trained_model(run: Path, saved: CheckpointFile, *, info: RunInfo) -> tuple[XTTS, Progress]:
    """The model of a checkpoint, by the moving average of the weights where there is one, and where the run stood.

    Raises:
        UserError: it is damaged, or of another model.
    """
    model = build_model(info.config, contract=info.contract, vocabulary=Vocabulary.load(run / "vocab.json"))
    return model, load_checkpoint(saved.path, model=model, contract=info.contract.fingerprint)
