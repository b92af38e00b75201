"""Read and write checkpoints: one safetensors file each, with all of a run's state.

    RUN/run.json                                  config, dataset contract and vocabulary of the weights
    RUN/vocab.json                                the dataset's compact vocabulary
    RUN/checkpoints/step-00000200.safetensors     weights, optimizer, step, position in the data, contract

safetensors instead of pickle: loading an untrusted checkpoint cannot run code.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import keras
import numpy as np
import safetensors

from shared.errors import UserError, writing
from shared.files import fsync_path, link_file, new_file
from trainer.checkpoint.checkpoint_files import (
    CheckpointFile,
    best_checkpoint_path,
    checkpoint_path,
    exported_weights_path,
    list_checkpoints,
    remove_surplus,
)
from trainer.data.position import Position
from trainer.optim.adamw import AdamW
from trainer.optim.ema import average_name
from trainer.optim.loss_scale import LossScale
from trainer.optim.plateau import PlateauState

FROM_PREVIOUS = "remove it to resume from the previous one"

# safetensors' names of numpy dtypes
_DTYPES = {"float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "uint32": "U32", "bool": "BOOL"}

NamedVariables = Mapping[str, keras.Variable]


class Progress(NamedTuple):
    """Progress of a run, stored in the checkpoint's metadata as a JSON object."""

    step: int  # updates made
    position: Position  # of the next batch in the stream
    order: str  # fingerprint of everything that determines the order of batches
    best_score: float | None = None  # lowest raw validation loss, or measure of synthesis_eval.best_by, so far
    validation_pending: bool = False  # the validation of this step was interrupted
    rolled_back: bool = False  # to an earlier checkpoint, after consecutive non-finite steps
    plateau: PlateauState = PlateauState()
    best_step: int | None = None  # step of the best score
    schedule: str = ""  # preset and schedule that the learning rate follows, as JSON
    plateau_config: str = ""  # settings of plateau detection, as JSON
    steps: int = 0  # length of the learning-rate schedule
    validation_fingerprint: str = ""  # of loss terms, weights and validation clips, which make losses comparable


class DamagedCheckpoint(UserError):
    """A checkpoint is cut off, or has other bytes than were written."""


class Snapshot(NamedTuple):
    """All of a run's state at one step, in host memory."""

    arrays: dict[str, np.ndarray]
    progress: Progress
    contract: str


def named_variables(model: keras.Model, optimizer: AdamW | None = None) -> NamedVariables:
    """Return every variable that a checkpoint holds, by name."""
    named = {f"model/{variable.path}": variable for variable in model.variables}
    assert len(named) == len(model.variables), "two weights have the same name: one of them would be lost"
    if optimizer is not None:
        named |= {f"optimizer/{name}": variable for name, variable in optimizer.state().items()}
    return named


def copy_to_host(variables: NamedVariables) -> dict[str, np.ndarray]:
    """Copy the current values, which later updates do not change: Keras copies a variable that becomes an array."""
    return {name: np.asarray(variable) for name, variable in variables.items()}


def find_checkpoint(run: Path, name: str | None) -> CheckpointFile:
    """Find a checkpoint of a run or of an export, for synthesis or evaluation.

    Args:
        name: "best", "last" or a step; None means the best if there is one, else the last.

    Raises:
        UserError: there is no such checkpoint.
    """
    best, exported = best_checkpoint_path(run), exported_weights_path(run)
    saved = [CheckpointFile(read_progress(exported).step, exported)] if exported.is_file() else list_checkpoints(run)
    named = {str(one.step): one for one in saved}
    if saved:
        named["last"] = saved[-1]
    if best.is_file() and (name is None or name not in named):
        named["best"] = CheckpointFile(read_progress(best).step, best)
        named.setdefault(str(named["best"].step), named["best"])
    if not named:
        raise UserError(f"{run}: no checkpoint yet; expected a trained run; `make train RUN={run}` writes one")
    chosen = name or ("best" if "best" in named else "last")
    if chosen not in named:
        raise UserError(f"{run}: no checkpoint {chosen}; expected one of {', '.join(named)}")
    return named[chosen]


def write_checkpoint(run: Path, snapshot: Snapshot, *, max_to_keep: int | None) -> Path:
    """Write a checkpoint atomically and remove old ones.

    The last `max_to_keep` checkpoints and the best one remain. Surplus checkpoints of earlier calls are removed before
    the new file is written, so that at most `max_to_keep` + 2 files exist at any time. If the checkpoint's own step is
    the best step, the file also gets the name of the best; after a kill before that, the next resumption adds the name.

    Args:
        snapshot: consumed; each array is released as soon as it is written.
        max_to_keep: None removes nothing.

    Raises:
        UserError: the disk is full or fails; the last `max_to_keep` before this one are intact.
    """
    path = checkpoint_path(run, step=snapshot.progress.step)
    remove_surplus(run, max_to_keep=max_to_keep)
    with writing(path, advice="the previous checkpoint is intact; free disk space and run the same command again"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_snapshot(path, snapshot)
        if snapshot.progress.best_step == snapshot.progress.step:
            link_file(path, best_checkpoint_path(run))
        fsync_path(path.parent)
    remove_surplus(run, max_to_keep=max_to_keep)
    return path


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot into a file atomically.

    Args:
        snapshot: consumed; each array is released as soon as it is written.

    Raises:
        OSError: the disk is full or fails.
    """
    metadata = {
        "progress": _progress_json(snapshot.progress),
        "contract": snapshot.contract,
        "crc32": json.dumps({name: _crc32(array) for name, array in snapshot.arrays.items()}),
    }
    with new_file(path) as file:
        _write_arrays(file, snapshot.arrays, metadata=metadata)


def read_progress(path: Path) -> Progress:
    """Read the progress of a run from a checkpoint.

    Raises:
        UserError: the file is damaged.
    """
    with _opened(path) as file:
        return _progress(file)


def load_checkpoint(path: Path, *, model: keras.Model, optimizer: AdamW | None = None, contract: str) -> Progress:
    """Load a checkpoint into the model, and into the optimizer if one is given, one array at a time.

    Without an optimizer the model gets the EMA weights if the run has them. If the optimizer has EMA weights or a loss
    scale that the checkpoint lacks, the EMA starts at the weights and the loss scale at its initial value.

    Args:
        contract: expected fingerprint of the dataset contract.

    Raises:
        DamagedCheckpoint: the file is damaged.
        UserError: it cannot be read, or belongs to another model or dataset contract.
    """
    with _opened(path) as file:
        progress, found = _progress(file), file.metadata()["contract"]
        if found != contract:
            raise UserError(f"{path}: dataset contract {found}, expected {contract}: mels or tokens differ")
        state = named_variables(model, optimizer)
        sources = _sources(state, names=set(file.keys()), averaged=optimizer is None)
        _assign(file, [(source, state[name]) for name, source in sources.items()], path=path)
    return progress


def assign_weights(
    path: Path,
    *,
    model: keras.Model,
    adapt: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]],
    advice: str,
) -> None:
    """Assign the weights of a checkpoint or of an export to a model, the averages where the file has them.

    Args:
        adapt: for weights whose names end so, a function from the file's value and the model's present one to the new
            one; their shapes may differ.
        advice: the end of messages.

    Raises:
        UserError: the file is damaged, or lacks a weight, or has one of another shape.
    """
    with _opened(path, advice=advice) as file:
        state, names = named_variables(model), set(file.keys())
        sources = _sources(state, names=names, averaged=True)
        adapted = {name: function for name in state for end, function in adapt.items() if name.endswith(end)}
        plain = [(source, state[name]) for name, source in sources.items() if name not in adapted]
        _assign(file, plain, path=path, advice=advice)
        for name, function in adapted.items():
            if sources[name] not in names:
                raise UserError(f"{path}: {sources[name]} is absent; {advice}")
            state[name].assign(function(_read(file, sources[name], path=path, advice=advice), state[name].numpy()))


@contextlib.contextmanager
def _opened(path: Path, *, advice: str = FROM_PREVIOUS) -> Iterator[safetensors.safe_open]:
    try:
        with safetensors.safe_open(path, framework="numpy", backend="pread") as file:
            yield file
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror or error}); fix that and run the same command again"
        ) from error
    except (ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise DamagedCheckpoint(f"{path}: not a readable checkpoint ({error}); {advice}") from error


def _progress_json(progress: Progress) -> str:
    fields = progress._asdict()
    return json.dumps({**fields, "position": progress.position._asdict(), "plateau": progress.plateau._asdict()})


def _progress(file: safetensors.safe_open) -> Progress:
    document = json.loads(file.metadata()["progress"])
    if not isinstance(document, dict):  # older versions have a list: the values in the order of the fields
        document = dict(zip(Progress._fields, document, strict=False))
        document["position"] = dict(zip(Position._fields, document["position"], strict=True))
        document["plateau"] = dict(zip(PlateauState._fields, document.get("plateau", ()), strict=False))
    position, plateau = Position(**document.pop("position")), PlateauState(**document.pop("plateau"))
    return Progress(**document, position=position, plateau=plateau)


def _crc32(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _read(file: safetensors.safe_open, name: str, *, path: Path, advice: str = FROM_PREVIOUS) -> np.ndarray:
    """Read an array and compare it with its checksum, if the file has checksums; raises DamagedCheckpoint."""
    value = file.get_tensor(name)
    expected = json.loads((file.metadata() or {}).get("crc32", "{}")).get(name)
    if expected is not None and _crc32(value) != expected:
        raise DamagedCheckpoint(f"{path}: damaged: {name} has other bytes than were written; {advice}")
    return value


def _sources(variables: NamedVariables, *, names: set[str], averaged: bool) -> dict[str, str]:
    """Map each variable to the name of its value in a file with these names; variables that start fresh are absent."""
    averages = {name: f"optimizer/{average_name(name.removeprefix('model/'))}" for name in variables}
    weights = {average: name for name, average in averages.items()}
    sources = {}
    for name in variables:
        first, second = (averages[name], name) if averaged else (name, weights.get(name, name))
        sources[name] = first if first in names else second
    fresh = {f"optimizer/{name}" for name in LossScale.NAMES} - names
    return {name: source for name, source in sources.items() if name not in fresh}


def _assign(
    file: safetensors.safe_open,
    pairs: Sequence[tuple[str, keras.Variable]],
    *,
    path: Path,
    advice: str = "the checkpoint of another model; train into another RUN",
) -> None:
    """Assign all values, or none if a shape differs."""
    names = set(file.keys())
    for name, variable in pairs:
        found = tuple(file.get_slice(name).get_shape()) if name in names else "absent"
        if found != tuple(variable.shape):
            raise UserError(f"{path}: {name} is {found}, expected {tuple(variable.shape)}: {advice}")
    for name, variable in pairs:
        variable.assign(_read(file, name, path=path))


def _write_arrays(file: BinaryIO, arrays: dict[str, np.ndarray], *, metadata: dict[str, str]) -> None:
    """Write the safetensors format directly from each array, and release the array afterwards.

    The library's own writers copy all arrays first, or create a file that only its owner can read.
    """
    sizes = itertools.accumulate((array.nbytes for array in arrays.values()), initial=0)
    header: dict[str, object] = {"__metadata__": metadata}
    for (name, array), (begin, end) in zip(arrays.items(), itertools.pairwise(sizes), strict=True):
        header[name] = {"dtype": _DTYPES[array.dtype.name], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in list(arrays):
        file.write(np.ascontiguousarray(arrays.pop(name)).reshape(-1).view(np.uint8).data)
