"""Checkpoints: everything comes back, and nothing that a disk or a stranger does costs the one before."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.errors import UserError
from tests.trainer.models import disturbable
from trainer.checkpoints import Progress, load_checkpoint, save_checkpoint, saved_checkpoints
from trainer.input.stream import Position
from trainer.model.xtts import XTTS
from trainer.optimization.adamw import AdamW
from trainer.optimization.config import OptimizerConfig

PROGRESS = Progress(7, Position(2, 1, 5), "order")


def make_optimizer(model: XTTS) -> AdamW:
    return AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables)


def randomise(model: XTTS, optimizer: AdamW, *, seed: int) -> None:
    """Other values in every variable, each different from all others."""
    random = np.random.default_rng(seed)
    for variable in (*model.variables, *optimizer._momenta, *optimizer._velocities):
        variable.assign(random.normal(size=variable.shape).astype(np.float32))
    optimizer.iterations.assign(seed)


def everything(model: XTTS, optimizer: AdamW) -> list[bytes]:
    """All values in the order of their making, whatever their names are."""
    variables = (*model.variables, *optimizer._momenta, *optimizer._velocities, optimizer.iterations)
    return [np.asarray(variable).tobytes() for variable in variables]


@pytest.fixture(scope="module")
def pair(models: Callable[..., XTTS]) -> Iterator[tuple[XTTS, AdamW]]:
    """A model that these tests may change, and its optimizer."""
    with disturbable(models(4)) as model:
        yield model, make_optimizer(model)


@pytest.fixture
def run(pair: tuple[XTTS, AdamW], tmp_path: Path) -> Path:
    """A run with a checkpoint of step 7."""
    model, optimizer = pair
    save_checkpoint(tmp_path, model=model, optimizer=optimizer, progress=PROGRESS, kept=3)
    return tmp_path


def test_all_state_comes_back_bit_for_bit(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    model, optimizer = pair
    randomise(model, optimizer, seed=1)
    before = everything(model, optimizer)
    path = save_checkpoint(tmp_path, model=model, optimizer=optimizer, progress=PROGRESS, kept=3)
    randomise(model, optimizer, seed=2)
    assert all(one != other for one, other in zip(before, everything(model, optimizer), strict=True))
    assert load_checkpoint(path, model=model, optimizer=optimizer) == PROGRESS
    assert everything(model, optimizer) == before


def test_safetensors_own_reader_finds_an_array_for_each_variable(pair: tuple[XTTS, AdamW], run: Path) -> None:
    model, optimizer = pair
    arrays = safetensors.numpy.load_file(saved_checkpoints(run)[-1].path)
    assert len(arrays) == len(model.variables) + len(optimizer.state())


def test_a_model_without_optimizer_reads_the_weights_alone(pair: tuple[XTTS, AdamW], run: Path) -> None:
    model, optimizer = pair
    before = everything(model, optimizer)
    randomise(model, optimizer, seed=3)
    load_checkpoint(saved_checkpoints(run)[-1].path, model=model)
    weights = len(model.variables)
    assert everything(model, optimizer)[:weights] == before[:weights]


def test_the_last_checkpoints_are_kept(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    model, optimizer = pair
    for step in (9, 10, 11, 100):
        save_checkpoint(tmp_path, model=model, optimizer=optimizer, progress=PROGRESS._replace(step=step), kept=2)
    assert [saved.step for saved in saved_checkpoints(tmp_path)] == [11, 100]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_the_checkpoint_before_and_no_temporary_file(
    pair: tuple[XTTS, AdamW], run: Path, failure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, optimizer = pair
    (before,) = saved_checkpoints(run)
    content = before.path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(failure, os.strerror(failure))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=rf"step-00000008.*{os.strerror(failure)}"):
        save_checkpoint(run, model=model, optimizer=optimizer, progress=PROGRESS._replace(step=8), kept=1)
    assert [path.name for path in (run / "checkpoints").iterdir()] == [before.path.name]
    assert before.path.read_bytes() == content


class Bomb:
    """Runs code where a pickle is trusted."""

    def __init__(self, target: Path):
        self._target = target

    def __reduce__(self) -> tuple[Callable, tuple]:
        return (Path.touch, (self._target,))


def test_a_pickle_in_its_place_runs_no_code(pair: tuple[XTTS, AdamW], run: Path) -> None:
    path = saved_checkpoints(run)[-1].path
    path.write_bytes(pickle.dumps(Bomb(run / "exploded")))
    with pytest.raises(UserError, match=path.name):
        load_checkpoint(path, model=pair[0])
    assert not (run / "exploded").exists()
    pickle.loads(path.read_bytes())
    assert (run / "exploded").exists(), "the bomb is no bomb"


def saved_with(metadata: dict[str, str] | None) -> bytes:
    return safetensors.numpy.save({"one": np.zeros(1, np.float32)}, metadata=metadata)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "one byte short": lambda whole: whole[:-1],
    "longer": lambda whole: whole + b"\0",
    "zeros": lambda whole: b"\0" * len(whole),
    "text": lambda _: b"not a checkpoint",
    "without metadata": lambda _: saved_with(None),
    "without progress": lambda _: saved_with({"format": "pt"}),
    "progress is no JSON": lambda _: saved_with({"progress": "{"}),
    "progress is a number": lambda _: saved_with({"progress": "7"}),
    "position is a number": lambda _: saved_with({"progress": '[7, 8, "order"]'}),
    "position is short": lambda _: saved_with({"progress": '[7, [8], "order"]'}),
    "position is words": lambda _: saved_with({"progress": '[7, ["a", "b", "c"], "order"]'}),
    "of another program": lambda _: saved_with({"progress": '[7, [0, 0, 0], "order"]'}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_checkpoint_is_named(pair: tuple[XTTS, AdamW], run: Path, damage: str) -> None:
    path = saved_checkpoints(run)[-1].path
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(UserError, match=path.name):
        load_checkpoint(path, model=pair[0], optimizer=pair[1])


def test_a_missing_checkpoint_is_named(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        load_checkpoint(tmp_path / "nowhere.safetensors", model=pair[0])


def test_a_checkpoint_of_another_model_says_which_weight_differs(
    models: Callable[..., XTTS], pair: tuple[XTTS, AdamW], run: Path
) -> None:
    with pytest.raises(UserError, match=r"prenet_0/kernel is \(64, 64\), wanted \(16, 64\)"):
        load_checkpoint(saved_checkpoints(run)[-1].path, model=models(1))


def test_other_files_in_the_folder_are_no_checkpoints(run: Path) -> None:
    for name in (".step-00000009.safetensors.1.tmp", "step-9.safetensors", "step-00000009.safetensors.bak"):
        (run / "checkpoints" / name).touch()
    assert [saved.step for saved in saved_checkpoints(run)] == [7]
    assert saved_checkpoints(run / "nowhere") == []


def test_two_weights_never_share_a_name(models: Callable[..., XTTS]) -> None:
    for r in (1, 4):
        names = [variable.path for variable in models(r).variables]
        assert len(set(names)) == len(names)
