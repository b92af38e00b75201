"""The state of a run: model, optimizer and progress, with methods to save, resume and roll back."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np

from shared.errors import UserError
from trainer.checkpoint.async_writer import AsyncCheckpointWriter
from trainer.checkpoint.checkpoint import DamagedCheckpoint, Progress, load_checkpoint, named_variables
from trainer.checkpoint.checkpoint_files import list_checkpoints, mark_best, remove_checkpoints, set_aside
from trainer.checkpoint.disk_space import check_disk_space
from trainer.config.plateau_config import PlateauConfig
from trainer.data.position import Position, has_same_chunks
from trainer.optim.adamw import AdamW
from trainer.optim.plateau import LrAction, PlateauState, watch_plateau

FRESH_WEIGHTS = "starting from fresh weights"


class RunState:
    """Model, optimizer and progress of a run; a context manager that writes checkpoints while it is entered."""

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
        """Number of skipped updates since the last successful one."""
        return self._optimizer.skipped_in_row

    def __enter__(self) -> RunState:
        self._writer.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._writer.__exit__(kind, error, trace)

    @property
    def is_over(self) -> bool:
        """True if a plateau has ended the run."""
        return self._plateau is not None and self.progress.plateau.is_over

    def resume(self, *, origin: str = FRESH_WEIGHTS) -> str:
        """Load the last checkpoint that is whole, if there is one, and return a line for the log.

        Damaged ones after it are renamed.

        Args:
            origin: the line if there is none.

        Raises:
            UserError: all checkpoints are damaged, or one belongs to another model.
        """
        saved = list_checkpoints(self._run)
        if not saved:
            return origin
        damaged = []
        while True:
            try:
                changes = self._load(saved[-1].path)
                break
            except DamagedCheckpoint:
                if len(saved) == 1:
                    raise
                damaged.append(saved.pop())
        renamed = ", ".join(str(set_aside(one)) for one in damaged)
        notice = f"damaged and renamed: {renamed}; " if damaged else ""
        if self.progress.best_step == saved[-1].step:
            mark_best(saved[-1].path)  # a kill may have prevented that
        return notice + ", with ".join(
            [f"resuming after step {self.progress.step}, {_describe(self.progress.position)}", *changes]
        )

    def check_disk_space(self) -> str:
        """Check that the checkpoints fit on the disk, and return a line for the log.

        Raises:
            UserError: they do not fit.
        """
        return check_disk_space(self._run, named_variables(self._model, self._optimizer), max_to_keep=self._max_to_keep)

    def advance(self, step: int, *, position: Position) -> None:
        """Record that a step was launched; its position may still be on the device."""
        self.progress = self.progress._replace(step=step, position=position)

    def change_data_order(self, order: str) -> str:
        """Continue in another order of batches: a position is valid in its own order only.

        Training continues at the next chunk if chunks are the same in both orders, and else at the next epoch.

        Returns:
            Where that is, for the log.
        """
        before, self.progress = self.progress, self.progress._replace(order=order)
        position = Position(*(int(number) for number in before.position))
        if has_same_chunks(before.order, order):
            self.progress = self.progress._replace(
                position=Position(position.epoch, position.chunk + (position.batch > 0))
            )
            return "the next chunk: batch shapes changed"
        self.progress = self.progress._replace(position=Position(position.epoch + any(position[1:])))
        return "a new epoch: data or input settings changed"

    def mark_validation_pending(self) -> None:
        """Mark the validation of this step as pending, until `record_validation`."""
        self.progress = self.progress._replace(validation_pending=True)

    def update_plateau(self, loss: float) -> LrAction | None:
        """Update plateau detection with a validation loss, and change the learning rate if there is a plateau."""
        if self._plateau is None:
            return None
        plateau, action = watch_plateau(self.progress.plateau, loss, config=self._plateau)
        self.progress = self.progress._replace(plateau=plateau)
        if action is not None:
            self._optimizer.scale_rate(action.factor)
        if action is not None and action.kind == "restart":
            self._optimizer.restart_schedule()
        return action

    def record_validation(self, score: float | None) -> bool:
        """Record the score of a validation, None if it was not measured, and return True if it is the lowest so far."""
        self.progress = self.progress._replace(validation_pending=False)
        best = self.progress.best_score
        if score is None or not np.isfinite(score) or (best is not None and score >= best):
            return False
        self.progress = self.progress._replace(best_score=score, best_step=self.progress.step)
        return True

    def save(self) -> None:
        """Write a checkpoint in the background; after a skipped update it may be unusable and replaces no older one."""
        position = Position(*(int(number) for number in self.progress.position))
        self.progress = self.progress._replace(position=position)
        variables = named_variables(self._model, self._optimizer)
        self._writer.save(variables, progress=self.progress, prune=self.skipped_in_row == 0)

    def mark_best(self) -> None:
        """Mark the checkpoint that was saved last as the best, once it is written."""
        self._writer.mark_best(self.progress.step)

    def raise_write_error(self) -> None:
        """Raise UserError if the last checkpoint could not be written; does not wait."""
        self._writer.raise_write_error()

    def wait(self) -> None:
        """Wait until all checkpoints are written."""
        self._writer.wait()

    def roll_back(self, *, skipped: int, rate_factor: float) -> None:
        """Restore the last checkpoint from before the skipped steps, with a lower learning rate; once per run.

        The data continue after the skipped steps: their batches, which may be to blame, do not come again.

        Args:
            skipped: number of consecutive skipped steps.
            rate_factor: multiplies the learning rate.

        Raises:
            UserError: there is no such checkpoint, or the run was rolled back before.
        """
        self.wait()
        step = self.progress.step
        reason = f"loss or gradient not finite in {skipped} consecutive steps, up to step {step}"
        good = [saved for saved in list_checkpoints(self._run) if saved.step <= step - skipped]
        advice = f"the weights did not change; see {self._run}/incidents.jsonl, and lower optimizer.learning_rate"
        if self.progress.rolled_back:
            raise UserError(f"{reason}, after an earlier rollback with a lower learning rate; {advice}")
        if not good:
            raise UserError(f"{reason}, and no checkpoint precedes them; {advice}")
        remove_checkpoints(self._run, after=good[-1].step)
        before = self.progress
        self._load(good[-1].path)
        # later steps are trained again with other weights, so a best step after this one has no file any more
        best_step = before.best_step if before.best_step is not None and before.best_step <= good[-1].step else None
        self.progress = self.progress._replace(
            rolled_back=True, best_score=before.best_score, best_step=best_step, position=before.position
        )
        self._optimizer.scale_rate(rate_factor)
        self.save()
        self.wait()

    def _load(self, path: Path) -> list[str]:
        """Load a checkpoint; return the parts that start again because settings changed, for the log."""
        current = self.progress
        self.progress = load_checkpoint(path, model=self._model, optimizer=self._optimizer, contract=self._contract)
        found, changes = self.progress, []
        if found.order != current.order:
            changes.append(self.change_data_order(current.order))
        is_rescheduled = bool(found.schedule) and found.schedule != current.schedule
        if is_rescheduled:
            self._optimizer.rate_scale.assign(1.0)
            self._optimizer.restart_schedule()
            changes.append("the learning-rate schedule from its start: preset or optimizer.schedule changed")
        elif found.steps:
            changes += self._schedule_changes(found.steps, now=current.steps)
        if found.validation_fingerprint and found.validation_fingerprint != current.validation_fingerprint:
            self.progress = self.progress._replace(best_score=None, best_step=None, plateau=PlateauState())
            changes.append(
                "no best step and no plateau yet: validations are not comparable (losses, seed, clips, references "
                "or the score of synthesis_eval changed)"
            )
        if found.plateau_config != current.plateau_config:
            self.progress = self.progress._replace(plateau=PlateauState())
        if is_rescheduled and self._plateau:  # the warm-up's rising loss is no plateau
            best = self.progress.plateau.best
            self.progress = self.progress._replace(plateau=PlateauState(best, cooldown=self._plateau.cooldown))
        self.progress = self.progress._replace(
            schedule=current.schedule,
            plateau_config=current.plateau_config,
            steps=current.steps,
            validation_fingerprint=current.validation_fingerprint,
        )
        return changes

    def _schedule_changes(self, before: int, *, now: int) -> list[str]:
        """Describe how another number of steps changes the learning rate, if it does."""
        old, new = (self._optimizer.rate_with_steps(steps) for steps in (before, now))
        if np.isclose(old, new):
            return []
        return [f"the learning rate at {new:.2e}: its schedule spans {now:,} steps (with {before:,}: {old:.2e})"]


def _describe(position: Position) -> str:
    return f"epoch {position.epoch}, chunk {position.chunk}, batch {position.batch}"
