"""Checkpoints restore everything, and no disk error or foreign file harms the previous one."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.errors import UserError
from tests.trainer.models import disturbable
from trainer.checkpoint.checkpoint import (
    Progress,
    Snapshot,
    copy_to_host,
    find_checkpoint,
    load_checkpoint,
    named_variables,
    write_checkpoint,
)
from trainer.checkpoint.checkpoint_files import list_checkpoints, remove_leftovers
from trainer.config.optim_config import OptimizerConfig
from trainer.data.position import Position
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.optim.loss_scale import LossScale

PROGRESS = Progress(7, Position(2, 1, 5), "order", best_score=0.1, rolled_back=True)
CONTRACT = "contract"


def save(run: Path, pair: tuple[XTTS, AdamW], *, progress: Progress = PROGRESS, max_to_keep: int = 3) -> Path:
    snapshot = Snapshot(copy_to_host(named_variables(*pair)), progress, CONTRACT)
    return write_checkpoint(run, snapshot, max_to_keep=max_to_keep)


def load(path: Path, model: XTTS, optimizer: AdamW | None = None) -> Progress:
    return load_checkpoint(path, model=model, optimizer=optimizer, contract=CONTRACT)


def make_optimizer(model: XTTS) -> AdamW:
    return AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables)


def randomise(model: XTTS, optimizer: AdamW, *, seed: int) -> None:
    """Assign a different value to every element of every variable."""
    random = np.random.default_rng(seed)
    for variable in (*model.variables, *optimizer._momenta, *optimizer._velocities):
        variable.assign(random.normal(size=variable.shape).astype(np.float32))
    optimizer.iterations.assign(seed)


def everything(model: XTTS, optimizer: AdamW) -> list[bytes]:
    """Return all values in the order of the variables' creation."""
    variables = (*model.variables, *optimizer._momenta, *optimizer._velocities, optimizer.iterations)
    return [np.asarray(variable).tobytes() for variable in variables]


@pytest.fixture(scope="module")
def pair(narrow_models: Callable[..., XTTS]) -> Iterator[tuple[XTTS, AdamW]]:
    """Return a model that tests may change, and its optimizer."""
    with disturbable(narrow_models(4)) as model:
        yield model, make_optimizer(model)


@pytest.fixture
def run(pair: tuple[XTTS, AdamW], tmp_path: Path) -> Path:
    """Return a run with a checkpoint of step 7."""
    save(tmp_path, pair)
    return tmp_path


@pytest.mark.slow
def test_all_state_is_restored_bit_for_bit(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    model, optimizer = pair
    randomise(model, optimizer, seed=1)
    before = everything(model, optimizer)
    path = save(tmp_path, pair)
    randomise(model, optimizer, seed=2)
    assert all(one != other for one, other in zip(before, everything(model, optimizer), strict=True))
    assert load(path, model, optimizer) == PROGRESS
    assert everything(model, optimizer) == before


def test_safetensors_own_reader_finds_an_array_for_each_variable(pair: tuple[XTTS, AdamW], run: Path) -> None:
    model, optimizer = pair
    arrays = safetensors.numpy.load_file(list_checkpoints(run)[-1].path)
    assert len(arrays) == len(model.variables) + len(optimizer.state())


def test_a_model_without_optimizer_reads_the_weights_alone(pair: tuple[XTTS, AdamW], run: Path) -> None:
    model, optimizer = pair
    before = everything(model, optimizer)
    randomise(model, optimizer, seed=3)
    load(list_checkpoints(run)[-1].path, model)
    weights = len(model.variables)
    assert everything(model, optimizer)[:weights] == before[:weights]


def test_the_last_checkpoints_are_kept(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    for step in (9, 10, 11, 100):
        save(tmp_path, pair, progress=PROGRESS._replace(step=step), max_to_keep=2)
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [11, 100]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_the_best_checkpoint_is_kept_beside_the_last_ones(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    for step, best_step in ((9, 9), (10, 10), (11, 10), (12, 10)):
        save(tmp_path, pair, progress=PROGRESS._replace(step=step, best_step=best_step), max_to_keep=1)
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [12]
    assert load(tmp_path / "checkpoints" / "best.safetensors", *pair).step == 10


@pytest.mark.slow
def test_the_best_checkpoint_is_the_default_and_others_can_be_chosen(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkpoint yet"):
        find_checkpoint(tmp_path, None)
    save(tmp_path, pair, progress=PROGRESS._replace(step=8))
    assert str(find_checkpoint(tmp_path, None)) == "the checkpoint, of step 8"
    with pytest.raises(UserError, match=r"no checkpoint best; expected one of 8, last$"):
        find_checkpoint(tmp_path, "best")
    for step in (9, 10, 11, 12):
        save(tmp_path, pair, progress=PROGRESS._replace(step=step, best_step=9), max_to_keep=2)
    assert str(find_checkpoint(tmp_path, None)) == "the best checkpoint, of step 9"
    asked = {wanted: find_checkpoint(tmp_path, wanted) for wanted in ("best", "last", "9", "11")}
    assert {wanted: one.step for wanted, one in asked.items()} == {"best": 9, "last": 12, "9": 9, "11": 11}
    assert {wanted: load(one.path, *pair).step for wanted, one in asked.items()} == {
        wanted: one.step for wanted, one in asked.items()
    }
    with pytest.raises(UserError, match=r"no checkpoint 10; expected one of 11, 12, last, best, 9$"):
        find_checkpoint(tmp_path, "10")
    (tmp_path / "checkpoints" / "best.safetensors").write_bytes(b"no checkpoint")
    assert {wanted: find_checkpoint(tmp_path, wanted).step for wanted in ("last", "11")} == {"last": 12, "11": 11}
    with pytest.raises(UserError, match=r"best\.safetensors"):
        find_checkpoint(tmp_path, None)


@pytest.mark.parametrize("failure", [errno.ENOENT, errno.EIO])
def test_an_old_checkpoint_that_cannot_be_removed_is_removed_after_the_next(
    pair: tuple[XTTS, AdamW], tmp_path: Path, failure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path, missing_ok: bool = False) -> None:
        if not (missing_ok and failure == errno.ENOENT):
            raise OSError(failure, os.strerror(failure))

    unlink = Path.unlink
    for step in (8, 9):
        monkeypatch.setattr(
            Path, "unlink", lambda path, missing_ok=False: (unlink if path.suffix == ".tmp" else fail)(path, missing_ok)
        )
        save(tmp_path, pair, progress=PROGRESS._replace(step=step), max_to_keep=1)
        monkeypatch.undo()
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [8, 9]
    save(tmp_path, pair, progress=PROGRESS._replace(step=10), max_to_keep=1)
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [10]


@pytest.mark.slow
def test_a_loss_scale_and_ema_that_a_checkpoint_lacks_start_fresh_and_at_the_weights(
    pair: tuple[XTTS, AdamW], tmp_path: Path
) -> None:
    model, plain = pair
    richer = AdamW(OptimizerConfig(ema_decay=0.9), steps=100, variables=model.trainable_variables, scales_loss=True)
    randomise(model, plain, seed=8)
    before = everything(model, plain)
    path = save(tmp_path, pair)
    randomise(model, richer, seed=9)
    load(path, model, richer)
    assert everything(model, richer) == before
    assert float(richer.state()["loss_scale"].numpy()) == 2.0**15
    with richer.averaged():
        assert everything(model, richer)[: len(model.variables)] == before[: len(model.variables)]
    # and back: values that the optimizer does not need are ignored
    path = save(tmp_path, (model, richer), progress=PROGRESS._replace(step=8))
    randomise(model, plain, seed=10)
    load(path, *pair)
    assert everything(model, plain) == before


def test_a_loss_scale_continues_from_the_checkpoint(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    model, _ = pair
    scaling = AdamW(OptimizerConfig(), steps=100, variables=model.trainable_variables, scales_loss=True)
    variables = [scaling.state()[name] for name in LossScale.NAMES]
    for number, variable in enumerate(variables):
        variable.assign(64.0 + number)
    path = save(tmp_path, (model, scaling))
    for variable in variables:
        variable.assign(7.0)
    load(path, model, scaling)
    assert [float(variable.numpy()) for variable in variables] == [64.0, 65.0]


def test_surplus_checkpoints_are_removed_before_the_next_is_written(
    pair: tuple[XTTS, AdamW], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most `max_to_keep` + 2 files exist, and the newest remain even if the disk is full."""
    for step, max_to_keep in ((7, 2), (8, 2), (9, None)):
        save(tmp_path, pair, progress=PROGRESS._replace(step=step), max_to_keep=max_to_keep)
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [7, 8, 9]

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match="step-00000010"):
        save(tmp_path, pair, progress=PROGRESS._replace(step=10), max_to_keep=2)
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [8, 9]


def test_later_steps_do_not_change_a_copy(pair: tuple[XTTS, AdamW]) -> None:
    """Otherwise the writing thread would mix the values of two steps."""
    randomise(*pair, seed=4)
    copied = copy_to_host(named_variables(*pair))
    before = {name: array.tobytes() for name, array in copied.items()}
    randomise(*pair, seed=5)
    assert {name: array.tobytes() for name, array in copied.items()} == before
    assert not any(np.shares_memory(array, np.asarray(pair[1].iterations)) for array in copied.values())


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_the_previous_checkpoint_and_no_temporary_file(
    pair: tuple[XTTS, AdamW], run: Path, failure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = list_checkpoints(run)
    content = before.path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(failure, os.strerror(failure))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=rf"step-00000008.*{os.strerror(failure)}"):
        save(run, pair, progress=PROGRESS._replace(step=8), max_to_keep=1)
    assert [path.name for path in (run / "checkpoints").iterdir()] == [before.path.name]
    assert before.path.read_bytes() == content


class Bomb:
    """Executes code when it is unpickled."""

    def __init__(self, target: Path):
        self._target = target

    def __reduce__(self) -> tuple[Callable, tuple]:
        return (Path.touch, (self._target,))


def test_a_pickle_in_place_of_a_checkpoint_runs_no_code(pair: tuple[XTTS, AdamW], run: Path) -> None:
    path = list_checkpoints(run)[-1].path
    path.write_bytes(pickle.dumps(Bomb(run / "exploded")))
    with pytest.raises(UserError, match=path.name):
        load(path, pair[0])
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
    "one bit of a weight": lambda whole: whole[:-400] + bytes([whole[-400] ^ 1]) + whole[-399:],
    "progress of unknown fields": lambda _: saved_with({"progress": '{"steps": 7}', "contract": CONTRACT}),
    "zeros": lambda whole: b"\0" * len(whole),
    "text": lambda _: b"not a checkpoint",
    "without metadata": lambda _: saved_with(None),
    "without progress": lambda _: saved_with({"format": "pt"}),
    "progress is no JSON": lambda _: saved_with({"progress": "{"}),
    "progress is a number": lambda _: saved_with({"progress": "7"}),
    "position is a number": lambda _: saved_with({"progress": '[7, 8, "order", null]', "contract": CONTRACT}),
    "position is too long": lambda _: saved_with(
        {"progress": '[7, [8, 1, 1, 1], "order", null]', "contract": CONTRACT}
    ),
    "without contract": lambda _: saved_with({"progress": '[7, [0, 0, 0], "order", null]'}),
    "of another program": lambda _: saved_with({"progress": '[7, [0, 0, 0], "order", null]', "contract": CONTRACT}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_checkpoint_is_named(pair: tuple[XTTS, AdamW], run: Path, damage: str) -> None:
    path = list_checkpoints(run)[-1].path
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(UserError, match=path.name):
        load(path, *pair)


def test_a_checkpoint_of_an_older_version_has_its_progress_as_a_list(pair: tuple[XTTS, AdamW], run: Path) -> None:
    path = list_checkpoints(run)[-1].path
    arrays = safetensors.numpy.load_file(path)
    progress = json.dumps([7, [2, 1, 5], "order", 0.1, False, True, [None, 0, 0, 0, False]])  # before `best_step`
    safetensors.numpy.save_file(arrays, path, metadata={"progress": progress, "contract": CONTRACT})
    assert load(path, *pair) == PROGRESS


def test_a_missing_checkpoint_is_named(pair: tuple[XTTS, AdamW], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        load(tmp_path / "nowhere.safetensors", pair[0])


@pytest.mark.slow
def test_a_checkpoint_of_another_model_says_which_weight_differs(
    narrow_models: Callable[..., XTTS], pair: tuple[XTTS, AdamW], run: Path
) -> None:
    with pytest.raises(UserError, match=r"prenet_0/kernel is \(64, 8\), expected \(16, 8\)"):
        load(list_checkpoints(run)[-1].path, narrow_models(1))


def test_nothing_is_taken_from_a_checkpoint_of_another_model(
    narrow_models: Callable[..., XTTS], pair: tuple[XTTS, AdamW], run: Path
) -> None:
    before = [variable.numpy() for variable in narrow_models(1).variables]
    with pytest.raises(UserError):
        load(list_checkpoints(run)[-1].path, narrow_models(1))
    assert all(np.array_equal(one, other) for one, other in zip(before, narrow_models(1).variables, strict=True))


def test_a_checkpoint_of_another_contract_is_refused_with_both(pair: tuple[XTTS, AdamW], run: Path) -> None:
    with pytest.raises(UserError, match="dataset contract contract, expected other"):
        load_checkpoint(list_checkpoints(run)[-1].path, model=pair[0], contract="other")


def test_temporary_files_of_a_killed_process_are_removed_and_nothing_else(run: Path) -> None:
    before = sorted((run / "checkpoints").iterdir())
    for name in (".step-00000009.safetensors.1f.tmp", ".best.safetensors.1f.tmp"):
        (run / "checkpoints" / name).write_bytes(b"half")
    remove_leftovers(run)
    assert sorted((run / "checkpoints").iterdir()) == before
    remove_leftovers(run / "nowhere")


def test_other_files_in_the_folder_are_not_listed(run: Path) -> None:
    for name in (".step-00000009.safetensors.1.tmp", "step-9.safetensors", "step-00000009.safetensors.bak"):
        (run / "checkpoints" / name).touch()
    assert [saved.step for saved in list_checkpoints(run)] == [7]
    assert list_checkpoints(run / "nowhere") == []


def test_two_weights_with_one_name_are_refused(narrow_models: Callable[..., XTTS]) -> None:
    for r in (1, 4):
        names = [variable.path for variable in narrow_models(r).variables]
        assert len(set(names)) == len(names)
