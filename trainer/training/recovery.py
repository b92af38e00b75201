"""Recovery from failed steps: roll back after non-finite losses, reduce batch sizes after out-of-memory errors."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from shared.messages import first_few
from trainer.checkpoint.run_state import RunState
from trainer.config.recovery_config import RecoveryConfig
from trainer.data.bucket_types import Bucket
from trainer.distributed.collectives import Hosts
from trainer.monitoring.logger import RunLogger
from trainer.training.data_module import DataModule
from trainer.training.incidents import IncidentLog
from trainer.training.skipped_steps import SkippedStepTracker

MAX_LISTED = 5  # steps that one log line names


class TooManySkippedSteps(Exception):
    """Too many consecutive steps changed no weight."""


class Recovery:
    """Failure handling for one session."""

    def __init__(
        self,
        config: RecoveryConfig,
        *,
        data: DataModule,
        state: RunState,
        incidents: IncidentLog,
        logger: RunLogger,
        hosts: Hosts,
    ):
        self._config, self._data, self._state, self._hosts = config, data, state, hosts
        self._incidents, self._logger = incidents, logger
        self._skipped = SkippedStepTracker(state.skipped_in_row)

    @property
    def is_check_due(self) -> bool:
        """True when `check_skipped_steps` is due."""
        return self._skipped.is_full

    def record(self, step: int, values: dict[str, tf.Tensor], *, rows: Sequence[tf.Tensor]) -> None:
        """Add a step that was launched, and the manifest rows of its batch, [B] for each device."""
        self._skipped.record(step, values, rows=rows)

    def check_skipped_steps(self) -> None:
        """Log the steps that were skipped since the last call; waits for the device.

        Raises:
            TooManySkippedSteps: the limit of consecutive skipped steps is reached; `roll_back` is due.
        """
        found = self._skipped.collect()
        for one in found:
            names = self._data.train.utterance_ids(self._hosts.gather(one.rows).ravel())
            metrics = {"loss": str(one.loss), "gradient_norm": str(one.gradient_norm)}
            self._incidents.add("skipped", step=one.step, **metrics, utterances=names)
        if found:
            steps = first_few([str(one.step) for one in found], most=MAX_LISTED)
            self._logger.log(f"loss or gradient not finite, update skipped: step {steps}; see incidents.jsonl")
        if self._skipped.consecutive >= self._config.max_nonfinite_steps:
            raise TooManySkippedSteps

    def log_reading(self, message: str) -> None:
        """Log a corrupt record that the input pipeline skips, or a read that it tries again."""
        self._incidents.add("reading", step=self._state.progress.step, message=message)
        self._logger.log(message)

    def restore_checkpoint(self, *, reason: str) -> None:
        """Restore the last checkpoint after a step failed during its update.

        Such a step may have lost weights, or updated them on some devices only.
        """
        step = self._state.progress.step
        self._state.wait()
        self._state.resume()
        self._rewind()
        if (restored := self._state.progress.step) < step:
            self._incidents.add("went back", step=step, to_step=restored, reason=f"{reason} amid a step")
            self._logger.log(
                f"{reason} during a step: rolled back from step {step} to {restored}, whose weights are complete"
            )

    def _rewind(self) -> None:
        self._skipped = SkippedStepTracker(self._state.skipped_in_row)
        progress = self._state.progress
        self._logger.rewind(progress.step, owes_validation=progress.validation_pending)

    def roll_back(self) -> None:
        """Restore the last checkpoint from before the skipped steps, and lower the learning rate.

        Raises:
            UserError: there is no such checkpoint, or the run was rolled back before.
        """
        step, skipped, factor = self._state.progress.step, self._skipped.consecutive, self._config.rate_factor
        self._state.roll_back(skipped=skipped, rate_factor=factor)
        restored = self._state.progress.step
        self._incidents.add("went back", step=step, to_step=restored, skipped_in_row=skipped, rate_factor=factor)
        self._rewind()
        self._logger.log(
            f"{skipped} consecutive steps not finite: rolled back to step {restored}, learning rate scaled by {factor}"
        )

    def reduce_bucket(self, bucket: Bucket) -> None:
        """Reduce the batch size of a bucket that does not fit into memory.

        Raises:
            UserError: a device already gets a single clip of the bucket.
        """
        clips, step = self._data.reduce_bucket(bucket), self._state.progress.step
        self._state.change_data_order(self._data.train.fingerprint)
        self._incidents.add("out of memory", step=step, bucket=list(bucket), clips=clips)
        self._logger.log(f"out of memory in bucket {bucket} (clips×frames×tokens): reduced to {clips} clips")
