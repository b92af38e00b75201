"""The checkpoint files of a run: their names, and which there are; their content is `checkpoint.py`'s.

    RUN/checkpoints/step-00000200.safetensors     the checkpoint of a step
    RUN/checkpoints/best.safetensors              a second name of the one with the lowest score
    OUT/weights.safetensors                       the one that an export holds, without the state of the optimizer

Programs that only look at a run import this module without TensorFlow.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError, writing
from shared.files import fsync_path, link_file

_NAME = re.compile(r"step-(\d{8})\.safetensors")
_BEST = "best.safetensors"


class CheckpointFile(NamedTuple):
    """A checkpoint on disk."""

    step: int
    path: Path

    def __str__(self) -> str:
        return f"the {'best checkpoint' if self.path.name == _BEST else 'checkpoint'}, of step {self.step}"


def checkpoint_path(run: Path, *, step: int) -> Path:
    """The file of a step's checkpoint."""
    return run / "checkpoints" / f"step-{step:08d}.safetensors"


def best_checkpoint_path(run: Path) -> Path:
    """The second name of the best checkpoint; the file may be absent."""
    return run / "checkpoints" / _BEST


def exported_weights_path(out: Path) -> Path:
    """The weights of an export; the file is absent from a run."""
    return out / "weights.safetensors"


def run_info_path(run: Path) -> Path:
    """The description of a run or of an export.

    Raises:
        UserError: the folder has none.
    """
    path = run / "run.json"
    if not path.is_file():
        raise UserError(f"{run}: no run here; expected what `make train RUN={run}` or `make export OUT={run}` writes")
    return path


def list_checkpoints(run: Path) -> list[CheckpointFile]:
    """Return the checkpoints of a run, oldest first."""
    folder = run / "checkpoints"
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(CheckpointFile(int(match[1]), path) for match, path in found if match)


def remove_leftovers(run: Path) -> None:
    """Remove the temporary files of a process that was killed while saving."""
    for path in (run / "checkpoints").glob(".*.tmp"):
        path.unlink(missing_ok=True)


def remove_checkpoints(run: Path, *, after: int) -> None:
    """Remove the checkpoints of later steps.

    Raises:
        UserError: the disk fails.
    """
    for saved in list_checkpoints(run):
        if saved.step > after:
            try:
                saved.path.unlink(missing_ok=True)
            except OSError as error:
                raise UserError(
                    f"{saved.path}: cannot be removed ({error.strerror}); remove it and run the same command again"
                ) from error


def set_aside(saved: CheckpointFile) -> Path:
    """Rename a damaged checkpoint, so that it counts no longer; its second name as the best one goes.

    Raises:
        UserError: the disk fails.
    """
    path, best = saved.path, saved.path.with_name(_BEST)
    aside = path.with_name(f"damaged-{path.name}")
    try:
        if best.is_file() and best.samefile(path):
            best.unlink()
        return path.rename(aside)
    except OSError as error:
        raise UserError(f"{path}: damaged, and cannot be renamed ({error.strerror}); remove it") from error


def mark_best(path: Path) -> None:
    """Give a checkpoint the second name `best.safetensors`.

    Raises:
        UserError: the disk fails.
    """
    with writing(path.with_name(_BEST), advice="free disk space and run again"):
        link_file(path, path.with_name(_BEST))
        fsync_path(path.parent)


def remove_surplus(run: Path, *, max_to_keep: int | None) -> None:
    """Remove all checkpoints but the last `max_to_keep` and the best one; None removes nothing."""
    with contextlib.suppress(OSError):  # what cannot be removed now is removed after the next checkpoint
        for old in list_checkpoints(run)[:-max_to_keep] if max_to_keep else ():
            old.path.unlink(missing_ok=True)
