"""What a run is at one moment, and its checkpoints: saved, resumed, gone back to."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np

from shared.errors import UserError
from trainer.checkpoint.async_writer import Saver
from trainer.checkpoint.checkpoint import (
    Progress,
    link_best,
    load_checkpoint,
    named_state,
    remove_checkpoints,
    saved_checkpoints,
)
from trainer.checkpoint.disk_space import claim_room
from trainer.config.plateau_config import PlateauConfig
from trainer.data.position import Position
from trainer.optim.adamw import AdamW
from trainer.optim.plateau import PlateauState, Remedy, watch_plateau


class RunState:
    """Model, optimizer and progress; writes while it is entered."""

    def __init__(
        self,
        run: Path,
        *,
        model: keras.Model,
        optimizer: AdamW,
        contract: str,
        kept: int,
        order: str,
        steps: int,
        judged: str = "",
        preset: str | None = None,
        plateau: PlateauConfig | None = None,
    ):
        self._run, self._contract = run, contract
        self._model, self._optimizer, self._plateau = model, optimizer, plateau
        self._saver, self._kept = Saver(run, contract=contract, kept=kept), kept
        schedule = json.dumps([preset, optimizer.schedule.model_dump()])
        watched = json.dumps(plateau and plateau.model_dump())
        self.progress = Progress(0, Position(), order, schedule=schedule, watched=watched, steps=steps, judged=judged)

    @property
    def skipped_in_row(self) -> int:
        """Steps without an update that came last."""
        return self._optimizer.skipped_in_row

    def __enter__(self) -> RunState:
        self._saver.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._saver.__exit__(kind, error, trace)

    @property
    def is_over(self) -> bool:
        """Whether a plateau has ended the run."""
        return self._plateau is not None and self.progress.plateau.is_over

    def resume(self) -> str:
        """Load the last checkpoint, if there is one; what was done, in words.

        Raises:
            UserError: it is damaged, or of another model.
        """
        saved = saved_checkpoints(self._run)
        if not saved:
            return "starting from fresh weights"
        changes = self._load(saved[-1].path)
        if self.progress.best_step == saved[-1].step:
            link_best(saved[-1].path)  # a kill may have come before that
        return ", with ".join([f"going on after step {self.progress.step}, {_words(self.progress.position)}", *changes])

    def claim_room(self) -> str:
        """What the checkpoints take on the disk, in words.

        Raises:
            UserError: they do not fit.
        """
        return claim_room(self._run, named_state(self._model, self._optimizer), kept=self._kept)

    def advance(self, step: int, *, position: Position) -> None:
        """One step was handed over; the position may still be on the device."""
        self.progress = self.progress._replace(step=step, position=position)

    def enter_order(self, order: str) -> None:
        """Batches come in another order from now on: a position in the old one means nothing there."""
        epoch, *place = (int(number) for number in self.progress.position)
        self.progress = self.progress._replace(position=Position(epoch + any(place)), order=order)

    def owe_validation(self) -> None:
        """Of this step, until it is noted."""
        self.progress = self.progress._replace(owes_validation=True)

    def watch_plateau(self, loss: float) -> Remedy | None:
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

    def note_validation(self, loss: float | None) -> bool:
        """Whether the loss is lower than ever before; None where there was nothing to validate with."""
        self.progress = self.progress._replace(owes_validation=False)
        best_loss = self.progress.best_loss
        if loss is None or not np.isfinite(loss) or (best_loss is not None and loss >= best_loss):
            return False
        self.progress = self.progress._replace(best_loss=loss, best_step=self.progress.step)
        return True

    def save(self) -> None:
        """Have a checkpoint written; one amid steps without an update may be no good one, and drives out none."""
        position = Position(*(int(number) for number in self.progress.position))
        self.progress = self.progress._replace(position=position)
        state = named_state(self._model, self._optimizer)
        self._saver.save(state, progress=self.progress, is_sure=self.skipped_in_row == 0)

    def check(self) -> None:
        """Raises UserError where a checkpoint could not be written; does not wait."""
        self._saver.check()

    def settle(self) -> None:
        """Wait until everything is written."""
        self._saver.settle()

    def go_back(self, *, skipped: int, rate_factor: float) -> None:
        """To the last checkpoint from before `skipped` steps without an update, once in a run, with a lower rate.

        Raises:
            UserError: there is none, or the run went back before.
        """
        self.settle()
        step = self.progress.step
        reason = f"loss or gradient was no number in {skipped} steps in a row, up to step {step}"
        good = [saved for saved in saved_checkpoints(self._run) if saved.step <= step - skipped]
        remedy = f"weights are as they were before; see {self._run}/incidents.jsonl, and lower optimizer.learning_rate"
        if self.progress.went_back:
            raise UserError(f"{reason}, after the run went back to a checkpoint with a lower rate before; {remedy}")
        if not good:
            raise UserError(f"{reason}, and no checkpoint is from before them; {remedy}")
        remove_checkpoints(self._run, after=good[-1].step)
        before = self.progress
        self._load(good[-1].path)
        # a later step's number is reached again by other weights: only the file that has its name is still the best
        best_step = before.best_step if before.best_step is not None and before.best_step <= good[-1].step else None
        self.progress = self.progress._replace(went_back=True, best_loss=before.best_loss, best_step=best_step)
        self._optimizer.scale_rate(rate_factor)
        self.save()
        self.settle()

    def _load(self, path: Path) -> list[str]:
        """The values of a checkpoint; what begins anew, for it was asked for otherwise then."""
        asked = self.progress
        self.progress = load_checkpoint(path, model=self._model, optimizer=self._optimizer, contract=self._contract)
        found, changes = self.progress, []
        if found.order != asked.order:
            self.enter_order(asked.order)
            changes.append("a new epoch: data or input settings changed")
        is_rescheduled = bool(found.schedule) and found.schedule != asked.schedule
        if is_rescheduled:
            self._optimizer.rate_scale.assign(1.0)
            self._optimizer.restart_schedule()
            changes.append("the learning rate's schedule from its beginning: preset or optimizer.schedule changed")
        elif found.steps:
            changes += self._stretched(found.steps, now=asked.steps)
        if found.judged and found.judged != asked.judged:
            self.progress = self.progress._replace(best_loss=None, best_step=None, plateau=PlateauState())
            changes.append(
                "no best loss and no plateau yet: what validations judge by changed (loss, model.crop_frames or clips)"
            )
        if found.watched != asked.watched:
            self.progress = self.progress._replace(plateau=PlateauState())
        if is_rescheduled and self._plateau:  # its rise is not judged
            best = self.progress.plateau.best
            self.progress = self.progress._replace(plateau=PlateauState(best, cooldown=self._plateau.cooldown))
        self.progress = self.progress._replace(
            schedule=asked.schedule, watched=asked.watched, steps=asked.steps, judged=asked.judged
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
