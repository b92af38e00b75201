"""What a run is at one moment, and its checkpoints: saved, resumed, gone back to."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np

from shared.errors import UserError
from trainer.checkpoint.async_writer import AsyncCheckpointWriter
from trainer.checkpoint.checkpoint import (
    Progress,
    list_checkpoints,
    load_checkpoint,
    mark_best,
    named_variables,
    remove_checkpoints,
)
from trainer.checkpoint.disk_space import check_disk_space
from trainer.config.plateau_config import PlateauConfig
from trainer.data.position import Position
from trainer.optim.adamw import AdamW
from trainer.optim.plateau import LrAction, PlateauState, watch_plateau


class RunState:
    """Model, optimizer and progress; writes while it is entered."""

    def __init__(
        self,
        run: Path,
        *,
        model: keras.Model,
        optimizer: AdamW,
        contract: str,
        max_to_keep: int,
        order: str,
        steps: int,
        validation_fingerprint: str = "",
        preset: str | None = None,
        plateau: PlateauConfig | None = None,
    ):
        self._run, self._contract = run, contract
        self._model, self._optimizer, self._plateau = model, optimizer, plateau
        self._writer = AsyncCheckpointWriter(run, contract=contract, max_to_keep=max_to_keep)
        self._max_to_keep = max_to_keep
        schedule = json.dumps([preset, optimizer.schedule.model_dump()])
        plateau_config = json.dumps(plateau and plateau.model_dump())
        self.progress = Progress(
            0,
            Position(),
            order,
            schedule=schedule,
            plateau_config=plateau_config,
            steps=steps,
            validation_fingerprint=validation_fingerprint,
        )

    @property
    def skipped_in_row(self) -> int:
        """Steps without an update that came last."""
        return self._optimizer.skipped_in_row

    def __enter__(self) -> RunState:
        self._writer.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._writer.__exit__(kind, error, trace)

    @property
    def is_over(self) -> bool:
        """Whether a plateau has ended the run."""
        return self._plateau is not None and self.progress.plateau.is_over

    def resume(self) -> str:
        """Load the last checkpoint, if there is one; what was done, in words.

        Raises:
            UserError: it is damaged, or of another model.
        """
        saved = list_checkpoints(self._run)
        if not saved:
            return "starting from fresh weights"
        changes = self._load(saved[-1].path)
        if self.progress.best_step == saved[-1].step:
            mark_best(saved[-1].path)  # a kill may have come before that
        return ", with ".join([f"going on after step {self.progress.step}, {_words(self.progress.position)}", *changes])

    def check_disk_space(self) -> str:
        """What the checkpoints take on the disk, in words.

        Raises:
            UserError: they do not fit.
        """
        return check_disk_space(self._run, named_variables(self._model, self._optimizer), max_to_keep=self._max_to_keep)

    def advance(self, step: int, *, position: Position) -> None:
        """One step was handed over; the position may still be on the device."""
        self.progress = self.progress._replace(step=step, position=position)

    def change_data_order(self, order: str) -> None:
        """Batches come in another order from now on: a position in the old one means nothing there."""
        epoch, *place = (int(number) for number in self.progress.position)
        self.progress = self.progress._replace(position=Position(epoch + any(place)), order=order)

    def mark_validation_pending(self) -> None:
        """Of this step, until it is noted."""
        self.progress = self.progress._replace(validation_pending=True)

    def update_plateau(self, loss: float) -> LrAction | None:
        """What was done to the learning rate where the validation loss stands still, if it does."""
        if self._plateau is None:
            return None
        plateau, remedy = watch_plateau(self.progress.plateau, loss, config=self._plateau)
        self.progress = self.progress._replace(plateau=plateau)
        if remedy is not None:
            self._optimizer.scale_rate(remedy.factor)
        if remedy is not None and remedy.kind == "restart":
            self._optimizer.restart_schedule()
        return remedy

    def record_validation(self, loss: float | None) -> bool:
        """Whether the loss is lower than ever before; None where there was nothing to validate with."""
        self.progress = self.progress._replace(validation_pending=False)
        best_loss = self.progress.best_loss
        if loss is None or not np.isfinite(loss) or (best_loss is not None and loss >= best_loss):
            return False
        self.progress = self.progress._replace(best_loss=loss, best_step=self.progress.step)
        return True

    def save(self) -> None:
        """Have a checkpoint written; one amid steps without an update may be no good one, and drives out none."""
        position = Position(*(int(number) for number in self.progress.position))
        self.progress = self.progress._replace(position=position)
        state = named_variables(self._model, self._optimizer)
        self._writer.save(state, progress=self.progress, is_sure=self.skipped_in_row == 0)

    def raise_write_error(self) -> None:
        """Raises UserError where a checkpoint could not be written; does not wait."""
        self._writer.raise_write_error()

    def wait(self) -> None:
        """Wait until everything is written."""
        self._writer.wait()

    def roll_back(self, *, skipped: int, rate_factor: float) -> None:
        """To the last checkpoint from before `skipped` steps without an update, once in a run, with a lower rate.

        Raises:
            UserError: there is none, or the run went back before.
        """
        self.wait()
        step = self.progress.step
        reason = f"loss or gradient was no number in {skipped} steps in a row, up to step {step}"
        good = [saved for saved in list_checkpoints(self._run) if saved.step <= step - skipped]
        remedy = f"weights are as they were before; see {self._run}/incidents.jsonl, and lower optimizer.learning_rate"
        if self.progress.rolled_back:
            raise UserError(f"{reason}, after the run went back to a checkpoint with a lower rate before; {remedy}")
        if not good:
            raise UserError(f"{reason}, and no checkpoint is from before them; {remedy}")
        remove_checkpoints(self._run, after=good[-1].step)
        before = self.progress
        self._load(good[-1].path)
        # a later step's number is reached again by other weights: only the file that has its name is still the best
        best_step = before.best_step if before.best_step is not None and before.best_step <= good[-1].step else None
        self.progress = self.progress._replace(rolled_back=True, best_loss=before.best_loss, best_step=best_step)
        self._optimizer.scale_rate(rate_factor)
        self.save()
        self.wait()

    def _load(self, path: Path) -> list[str]:
        """The values of a checkpoint; what begins anew, for it was asked for otherwise then."""
        asked = self.progress
        self.progress = load_checkpoint(path, model=self._model, optimizer=self._optimizer, contract=self._contract)
        found, changes = self.progress, []
        if found.order != asked.order:
            self.change_data_order(asked.order)
            changes.append("a new epoch: data or input settings changed")
        is_rescheduled = bool(found.schedule) and found.schedule != asked.schedule
        if is_rescheduled:
            self._optimizer.rate_scale.assign(1.0)
            self._optimizer.restart_schedule()
            changes.append("the learning rate's schedule from its beginning: preset or optimizer.schedule changed")
        elif found.steps:
            changes += self._stretched(found.steps, now=asked.steps)
        if found.validation_fingerprint and found.validation_fingerprint != asked.validation_fingerprint:
            self.progress = self.progress._replace(best_loss=None, best_step=None, plateau=PlateauState())
            changes.append(
                "no best loss and no plateau yet: what validations judge by changed (loss, model.crop_frames or clips)"
            )
        if found.plateau_config != asked.plateau_config:
            self.progress = self.progress._replace(plateau=PlateauState())
        if is_rescheduled and self._plateau:  # its rise is not judged
            best = self.progress.plateau.best
            self.progress = self.progress._replace(plateau=PlateauState(best, cooldown=self._plateau.cooldown))
        self.progress = self.progress._replace(
            schedule=asked.schedule,
            plateau_config=asked.plateau_config,
            steps=asked.steps,
            validation_fingerprint=asked.validation_fingerprint,
        )
        return changes

    def _stretched(self, before: int, *, now: int) -> list[str]:
        """What other steps than before do to the learning rate, where they do anything."""
        old, new = (self._optimizer.rate_over(steps) for steps in (before, now))
        if np.isclose(old, new):
            return []
        return [f"the learning rate at {new:.2e}: its schedule is over {now:,} steps (over {before:,}: {old:.2e})"]


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, chunk {position.chunk}, batch {position.batch}"
