"""What a run is at one moment, and its checkpoints: saved, resumed, gone back to."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np

from shared.errors import UserError
from trainer.checkpoints import Progress, load_checkpoint, named_state, remove_checkpoints, saved_checkpoints
from trainer.input.stream import Position
from trainer.optimization.adamw import AdamW
from trainer.optimization.plateau import PlateauConfig, Remedy, watch_plateau
from trainer.saving import Saver


class RunState:
    """Model, optimizer and progress; writes while it is entered."""

    def __init__(self, run: Path, *, model: keras.Model, optimizer: AdamW, contract: str, kept: int, order: str):
        self._run, self._contract = run, contract
        self._model, self._optimizer = model, optimizer
        self._saver = Saver(run, contract=contract, kept=kept)
        self.progress = Progress(0, Position(), order)

    @property
    def skipped_in_row(self) -> int:
        """Steps without an update that came last."""
        return int(self._optimizer.state()["skipped_in_row"].numpy())

    def __enter__(self) -> RunState:
        self._saver.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._saver.__exit__(kind, error, trace)

    def resume(self) -> str:
        """Load the last checkpoint, if there is one; what was done, in words."""
        saved, order = saved_checkpoints(self._run), self.progress.order
        if not saved:
            return "starting from fresh weights"
        self._load(saved[-1].path)
        if self.progress.order == order:
            return f"going on after step {self.progress.step}, {_words(self.progress.position)}"
        self.enter_order(order)
        return f"going on after step {self.progress.step} with a new epoch: data or input settings changed"

    def advance(self, step: int, *, position: Position) -> None:
        """One step was handed over; the position may still be on the device."""
        self.progress = self.progress._replace(step=step, position=position)

    def enter_order(self, order: str) -> None:
        """Batches come in another order from now on: a position in the old one means nothing there."""
        epoch, *place = (int(number) for number in self.progress.position)
        self.progress = self.progress._replace(position=Position(epoch + any(place)), order=order)

    def owe_validation(self) -> None:
        """Of this step."""
        self.progress = self.progress._replace(owes_validation=True)

    def watch_plateau(self, loss: float, *, config: PlateauConfig | None) -> Remedy | None:
        """What was done to the learning rate where the validation loss stands still, if it does."""
        if config is None:
            return None
        plateau, remedy = watch_plateau(self.progress.plateau, loss, config=config)
        self.progress = self.progress._replace(plateau=plateau)
        if remedy is not None:
            self._optimizer.scale_rate(remedy.factor)
        if remedy is not None and remedy.kind == "restart":
            self._optimizer.restart_schedule()
        return remedy

    def note_validation(self, loss: float) -> bool:
        """Whether the loss is lower than ever before."""
        self.progress = self.progress._replace(owes_validation=False)
        best_loss = self.progress.best_loss
        if not np.isfinite(loss) or (best_loss is not None and loss >= best_loss):
            return False
        self.progress = self.progress._replace(best_loss=loss)
        return True

    def save(self, *, is_best: bool = False) -> None:
        """Have a checkpoint written; one amid steps without an update may be no good one, and drives out none."""
        position = Position(*(int(number) for number in self.progress.position))
        self.progress = self.progress._replace(position=position)
        state = named_state(self._model, self._optimizer)
        self._saver.save(state, progress=self.progress, is_best=is_best, is_sure=self.skipped_in_row == 0)

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
        best_loss = self.progress.best_loss
        self._load(good[-1].path)
        self.progress = self.progress._replace(went_back=True, best_loss=best_loss)
        self._optimizer.scale_rate(rate_factor)
        self.save()
        self.settle()

    def _load(self, path: Path) -> None:
        self.progress = load_checkpoint(path, model=self._model, optimizer=self._optimizer, contract=self._contract)


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, chunk {position.chunk}, batch {position.batch}"
