"""What a resumed run keeps, and what starts again: the best checkpoint, the schedule, the plateau."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest

from trainer.checkpoint import checkpoint as checkpoints
from trainer.checkpoint.checkpoint import find_checkpoint, load_checkpoint
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.checkpoint.run_state import RunState
from trainer.config.plateau_config import PlateauConfig
from trainer.config.train_config import TrainConfig
from trainer.data.position import Position
from trainer.optim.adamw import AdamW
from trainer.optim.plateau import PlateauState

STILL = PlateauConfig(patience=1, cooldown=0, max_reductions=0)


class Weight:
    """A model with a single weight."""

    def __init__(self) -> None:
        self.variables = [keras.Variable(np.float32(0.0), name="weight")]


def make_state(
    run: Path, *, order: str = "order", validation_fingerprint: str = "losses", **config: object
) -> RunState:
    """Make the state of a run with this config."""
    settings, model = TrainConfig.model_validate({"steps": 400_000, **config}), Weight()
    optimizer = AdamW(settings.optimizer, steps=settings.steps, variables=model.variables)
    return RunState(
        run,
        model=model,  # type: ignore[arg-type]
        optimizer=optimizer,
        contract="c",
        max_to_keep=9,
        order=order,
        steps=settings.steps,
        validation_fingerprint=validation_fingerprint,
        preset=settings.preset,
        plateau=settings.plateau,
    )


def resumed(run: Path, **asked: object) -> tuple[RunState, str]:
    state = make_state(run, **asked)  # type: ignore[arg-type]
    return state, state.resume()


def save_at(state: RunState, step: int, *, loss: float | None = None) -> None:
    state.advance(step, position=Position(3, 2, 1))
    state._optimizer.iterations.assign(step)
    if loss is not None:
        state.update_plateau(loss)
        state.record_validation(loss)
    state.save()
    state.wait()


def rates(optimizer: AdamW, *, after: list[int]) -> list[float]:
    """Return the learning rates after so many further updates."""
    start, found = int(optimizer.iterations.numpy()), []
    for steps in after:
        optimizer.iterations.assign(start + steps)
        found.append(optimizer.rate_with_steps(optimizer._steps))
    optimizer.iterations.assign(start)
    return found


@pytest.mark.parametrize(
    ("before", "now", "position", "line"),
    [
        ("a-x", "a-x", Position(3, 2, 1), None),
        ("a-x", "a-y", Position(3, 3, 0), "the next chunk: batch shapes changed"),
        ("a-x", "b-x", Position(4, 0, 0), "a new epoch: data or input settings changed"),
        ("old", "a-x", Position(4, 0, 0), "a new epoch: data or input settings changed"),
    ],
)
def test_another_order_of_batches_begins_at_the_next_place_that_both_orders_have(
    tmp_path: Path, before: str, now: str, position: Position, line: str | None
) -> None:
    with make_state(tmp_path, order=before) as state:
        save_at(state, 7)
    state, told = resumed(tmp_path, order=now)
    assert state.progress.position == position
    assert (line or "resuming after step 7") in told
    assert "changed" in told or line is None


def test_a_chunk_that_was_not_begun_is_begun_in_another_order() -> None:
    with make_state(Path("unused"), order="a-x") as state:
        state.advance(7, position=Position(3, 2, 0))
        assert state.change_data_order("a-y") == "the next chunk: batch shapes changed"
    assert state.progress.position == Position(3, 2, 0)


class Killed(BaseException):
    """Simulate kill -9: no clean-up runs."""


def test_a_resumption_marks_the_best_checkpoint_if_a_kill_prevented_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    state = make_state(tmp_path)
    save_at(state, 1, loss=3.0)
    monkeypatch.setattr(checkpoints, "link_file", die)
    with pytest.raises(Killed):
        save_at(state, 2, loss=2.0)
    monkeypatch.undo()
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [1, 2]
    assert find_checkpoint(tmp_path, "best").step == 1
    state, _ = resumed(tmp_path)
    assert find_checkpoint(tmp_path, "best").step == 2
    save_at(state, 3, loss=2.5)
    resumed(tmp_path)
    assert find_checkpoint(tmp_path, "best").step == 2


def test_another_preset_restarts_the_schedule_once(tmp_path: Path) -> None:
    state = make_state(tmp_path, preset="enhanced")
    state._optimizer.scale_rate(0.25)
    save_at(state, 100_000)
    moments = [0, 10, 999, 1_000, 50_000, 201_000, 250_000]
    fresh = rates(make_state(tmp_path, preset="plateau_breaker", steps=300_000)._optimizer, after=moments)
    assert max(fresh) == pytest.approx(1.5e-5)
    state, notice = resumed(tmp_path, preset="plateau_breaker")
    assert "resuming after step 100000" in notice
    assert "the learning-rate schedule from its start: preset or optimizer.schedule changed" in notice
    assert rates(state._optimizer, after=moments) == pytest.approx(fresh)
    save_at(state, 100_010)
    state, notice = resumed(tmp_path, preset="plateau_breaker")
    assert "schedule" not in notice
    assert rates(state._optimizer, after=[moment - 10 for moment in moments[1:]]) == pytest.approx(fresh[1:])


def test_a_restarted_schedule_has_all_plateau_actions_left_and_its_warm_up_is_no_plateau(tmp_path: Path) -> None:
    plateau = PlateauConfig(patience=1, cooldown=2, max_reductions=2)
    state = make_state(tmp_path, plateau=plateau)
    save_at(state, 1, loss=1.0)
    save_at(state, 2, loss=1.0)
    assert state.progress.plateau == PlateauState(best=1.0, actions=1, cooldown=2)
    save_at(state, 3, loss=1.0)
    state, _ = resumed(tmp_path, plateau=plateau, optimizer={"schedule": {"kind": "noam"}})
    assert state.progress.plateau == PlateauState(best=1.0, cooldown=2)
    others = plateau.model_copy(update={"cooldown": 5})
    state, _ = resumed(tmp_path, plateau=others, optimizer={"schedule": {"kind": "noam"}})
    assert state.progress.plateau == PlateauState(cooldown=5)
    assert float(state._optimizer.rate_scale.numpy()) == 1.0


@pytest.mark.parametrize(
    "changed", [{"optimizer": {"learning_rate": 1e-5}}, {"plateau": STILL}, {"optimizer": {"clip_norm": 0.1}}]
)
def test_other_settings_do_not_restart_the_schedule(tmp_path: Path, changed: dict) -> None:
    state = make_state(tmp_path)
    state._optimizer.scale_rate(0.25)
    save_at(state, 100_000)
    state, notice = resumed(tmp_path, **changed)
    assert notice == "resuming after step 100000, epoch 3, chunk 2, batch 1"
    assert float(state._optimizer.rate_scale.numpy()) == 0.25
    assert int(state._optimizer.state()["schedule_start"].numpy()) == 0


def test_a_longer_run_logs_the_jump_of_its_learning_rate(tmp_path: Path) -> None:
    """A finished cosine schedule, stretched to twice the steps, raises the rate to half-way."""
    asked = {"optimizer": {"learning_rate": 1e-3, "schedule": {"kind": "cosine", "final_fraction": 0.05}}}
    asked["optimizer"]["warmup_steps"] = 0
    state = make_state(tmp_path, steps=200_000, **asked)
    save_at(state, 200_000)
    assert resumed(tmp_path, steps=200_000, **asked)[1] == "resuming after step 200000, epoch 3, chunk 2, batch 1"
    state, notice = resumed(tmp_path, steps=400_000, **asked)
    assert rates(state._optimizer, after=[0]) == pytest.approx([1e-3 * (1.0 + 0.05) / 2], rel=1e-5)
    assert notice.endswith(
        ", with the learning rate at 5.25e-04: its schedule spans 400,000 steps (with 200,000: 5.00e-05)"
    )
    save_at(state, 200_010)
    assert "learning rate" not in resumed(tmp_path, steps=400_000, **asked)[1]


def test_another_loss_has_no_best_checkpoint_yet_and_no_plateau(tmp_path: Path) -> None:
    """Values of different losses cannot be compared."""
    state = make_state(tmp_path, plateau=STILL)
    save_at(state, 1, loss=2.0)
    save_at(state, 2, loss=2.0)
    assert state.is_over
    state, notice = resumed(tmp_path, plateau=STILL, validation_fingerprint="other losses")
    assert "no best step and no plateau yet: validations are not comparable" in notice
    assert not state.is_over
    save_at(state, 3, loss=9.0)
    assert find_checkpoint(tmp_path, "best").step == 3
    state, notice = resumed(tmp_path, plateau=STILL, validation_fingerprint="other losses")
    assert "best loss" not in notice
    save_at(state, 4, loss=10.0)
    assert find_checkpoint(tmp_path, "best").step == 3


def test_a_restart_after_a_plateau_restarts_the_schedule_at_a_lower_rate(tmp_path: Path) -> None:
    plateau = PlateauConfig(patience=1, cooldown=0, max_reductions=1, action="restart", factor=0.5)
    moments = [1, 500, 1_000, 100_000]
    fresh = rates(make_state(tmp_path, plateau=plateau)._optimizer, after=moments)
    state = make_state(tmp_path, plateau=plateau)
    save_at(state, 150_000, loss=1.0)
    save_at(state, 200_000, loss=1.0)
    assert int(state._optimizer.state()["schedule_start"].numpy()) == 200_000
    # the rest of the 400,000 steps is half as long, apart from the warm-up
    assert rates(state._optimizer, after=moments[:3]) == pytest.approx([0.5 * one for one in fresh[:3]], rel=1e-3)
    assert rates(state._optimizer, after=moments[3:]) < [0.5 * one for one in fresh[3:]]


def test_synthesis_loads_the_ema_weights_and_training_the_raw_weights(tmp_path: Path) -> None:
    asked = {"optimizer": {"ema_decay": 0.9}}
    state = make_state(tmp_path, **asked)
    state._model.variables[0].assign(1.0)
    state._optimizer.state()["weight/average"].assign(7.0)
    save_at(state, 1)
    (saved,) = list_checkpoints(tmp_path)
    model = Weight()
    load_checkpoint(saved.path, model=model, contract="c")  # type: ignore[arg-type]
    assert float(model.variables[0].numpy()) == 7.0
    state, _ = resumed(tmp_path, **asked)
    assert float(state._model.variables[0].numpy()) == 1.0
    assert float(state._optimizer.state()["weight/average"].numpy()) == 7.0


def test_synthesis_loads_the_raw_weights_of_a_run_without_averages(tmp_path: Path) -> None:
    state = make_state(tmp_path)
    state._model.variables[0].assign(3.0)
    save_at(state, 1)
    (saved,) = list_checkpoints(tmp_path)
    model = Weight()
    load_checkpoint(saved.path, model=model, contract="c")  # type: ignore[arg-type]
    assert float(model.variables[0].numpy()) == 3.0


@pytest.mark.parametrize(
    ("plateau", "is_over"), [(STILL, True), (None, False), (STILL.model_copy(update={"patience": 2}), False)]
)
def test_a_plateau_ends_a_run_until_its_settings_change(
    tmp_path: Path, plateau: PlateauConfig | None, is_over: bool
) -> None:
    state = make_state(tmp_path, plateau=STILL)
    save_at(state, 1, loss=1.0)
    assert not state.is_over
    save_at(state, 2, loss=1.0)
    assert state.is_over
    state, _ = resumed(tmp_path, plateau=plateau)
    assert state.is_over == is_over


def test_a_plateau_ends_a_run_until_it_has_another_schedule(tmp_path: Path) -> None:
    state = make_state(tmp_path, plateau=STILL)
    for step in (1, 2):
        save_at(state, step, loss=1.0)
    assert state.is_over
    state, notice = resumed(tmp_path, plateau=STILL, optimizer={"schedule": {"kind": "noam"}})
    assert "schedule from its start" in notice
    assert not state.is_over


def test_after_a_rollback_the_best_checkpoint_is_not_replaced_by_another_of_its_step(tmp_path: Path) -> None:
    state = make_state(tmp_path)
    save_at(state, 2)
    save_at(state, 4, loss=1.0)
    best = (tmp_path / "checkpoints" / "best.safetensors").read_bytes()
    state.advance(6, position=Position(4, 5, 6))
    state.roll_back(skipped=4, rate_factor=0.5)
    assert state.progress.step == 2
    save_at(state, 4, loss=2.0)
    resumed(tmp_path)
    assert (tmp_path / "checkpoints" / "best.safetensors").read_bytes() == best
    save_at(state, 5, loss=0.5)
    assert find_checkpoint(tmp_path, "best").step == 5


def test_a_rollback_past_a_change_of_settings_keeps_the_change(tmp_path: Path) -> None:
    """The position is that in the order of now, after the skipped steps; the schedule is the one configured now."""
    save_at(make_state(tmp_path), 4)
    state, _ = resumed(tmp_path, order="another", preset="basic")
    state.advance(6, position=Position(4, 5, 6))
    state.roll_back(skipped=2, rate_factor=0.5)
    assert (state.progress.position, state.progress.order) == (Position(4, 5, 6), "another")
    assert int(state._optimizer.state()["schedule_start"].numpy()) == 4
    assert float(state._optimizer.rate_scale.numpy()) == 0.5
    assert resumed(tmp_path, order="another", preset="basic")[1].startswith("resuming after step 4, epoch 4")
