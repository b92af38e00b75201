"""Checkpoints: one safetensors file each, all of a run's state or none of it.

    RUN/run.json                                  config, contract, vocabulary: what the weights belong to
    RUN/vocab.json                                the dataset's compact vocabulary
    RUN/checkpoints/step-00000200.safetensors     weights, optimizer, step, position in the stream

No pickle: a checkpoint from a stranger can be wrong, but it cannot run code.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import safetensors
import safetensors.numpy

from shared.errors import UserError
from shared.files import write_bytes
from trainer.input.stream import Position
from trainer.optimization.adamw import AdamW

_NAME = re.compile(r"step-(\d{8})\.safetensors")


class Saved(NamedTuple):
    """A checkpoint on disk."""

    step: int
    path: Path


class Progress(NamedTuple):
    """Where a run stands: updates made, and the batch to come in a stream of this order."""

    step: int
    position: Position
    order: str  # fingerprint of everything that decides the order of batches


def saved_checkpoints(run: Path) -> list[Saved]:
    """The checkpoints of a run, oldest first."""
    folder = run / "checkpoints"
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(Saved(int(match[1]), path) for match, path in found if match)


def save_checkpoint(run: Path, *, model: keras.Model, optimizer: AdamW, progress: Progress, kept: int) -> Path:
    """Write a checkpoint whole, then remove all but the last `kept`.

    Raises:
        UserError: the disk is full or fails; the checkpoints before this one are intact.
    """
    folder = run / "checkpoints"
    arrays = {name: np.asarray(variable) for name, variable in _state(model, optimizer).items()}
    data = safetensors.numpy.save(arrays, metadata={"progress": json.dumps(progress)})
    path = folder / f"step-{progress.step:08d}.safetensors"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}); the last checkpoint before it is intact; "
            "make room and run the same command again"
        ) from error
    for old in saved_checkpoints(run)[:-kept]:
        old.path.unlink()
    return path


def load_checkpoint(path: Path, *, model: keras.Model, optimizer: AdamW | None = None) -> Progress:
    """Put a checkpoint's values into the model, and into the optimizer where one is given.

    Raises:
        UserError: the file is damaged, or is of another model.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            step, position, order = json.loads(file.metadata()["progress"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise UserError(
            f"{path}: not a readable checkpoint ({error}); remove it to go on from the one before"
        ) from error
    for name, variable in _state(model, optimizer).items():
        if name not in arrays or arrays[name].shape != tuple(variable.shape):
            found = arrays[name].shape if name in arrays else "absent"
            raise UserError(
                f"{path}: {name} is {found}, wanted {tuple(variable.shape)}: a checkpoint of another model; "
                "train into another RUN"
            )
        variable.assign(arrays[name])
    return Progress(step, Position(*position), order)


def _state(model: keras.Model, optimizer: AdamW | None) -> dict[str, keras.Variable]:
    named = {f"model/{variable.path}": variable for variable in model.variables}
    assert len(named) == len(model.variables), "two weights of one name: one of them would be lost"
    if optimizer is not None:
        named |= {f"optimizer/{name}": variable for name, variable in optimizer.state().items()}
    return named
