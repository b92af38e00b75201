"""What is done when steps fail: batches that do not fit into memory, losses and gradients that are no numbers."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from trainer.checkpoint.run_state import RunState
from trainer.config.recovery_config import RecoveryConfig
from trainer.data.buckets import Bucket
from trainer.distributed.collectives import Hosts
from trainer.monitoring.logger import RunLogger
from trainer.training.data_module import DataModule
from trainer.training.incidents import IncidentLog, SkippedStepTracker

SHOWN = 5  # steps that a line names


class TooManySkippedSteps(Exception):
    """Too many steps in a row changed no weight."""


class Recovery:
    """Of a run from where it was resumed."""

    def __init__(
        self,
        config: RecoveryConfig,
        *,
        feed: DataModule,
        state: RunState,
        incidents: IncidentLog,
        monitor: RunLogger,
        hosts: Hosts,
    ):
        self._config, self._feed, self._state, self._hosts = config, feed, state, hosts
        self._incidents, self._monitor = incidents, monitor
        self._skipped = SkippedStepTracker(state.skipped_in_row)

    @property
    def is_due(self) -> bool:
        """Whether it is time to look."""
        return self._skipped.is_full

    def record(self, step: int, values: dict[str, tf.Tensor], *, rows: Sequence[tf.Tensor]) -> None:
        """A step that was handed over, and the rows of its batch, [B] for each device."""
        self._skipped.record(step, values, rows=rows)

    def check_skipped_steps(self) -> None:
        """Name what was skipped since the last look; waits for the device.

        Raises:
            TooManySkippedSteps: so many steps that it is time to go back.
        """
        found = self._skipped.collect()
        for one in found:
            names = self._feed.train.utterance_ids(self._hosts.gather(one.rows).ravel())
            figures = {"loss": str(one.loss), "gradient_norm": str(one.gradient_norm)}
            self._incidents.add("skipped", step=one.step, **figures, utterances=names)
        if found:
            steps = ", ".join(str(one.step) for one in found[:SHOWN]) + (", …" if found[SHOWN:] else "")
            self._monitor.log(
                f"loss or gradient was no number, no weight was changed: step {steps}; see incidents.jsonl"
            )
        if self._skipped.consecutive >= self._config.max_nonfinite_steps:
            raise TooManySkippedSteps

    def log_corrupt_record(self, words: str) -> None:
        """A corrupt record that was skipped."""
        self._incidents.add("corrupt record", step=self._state.progress.step, record=words)
        self._monitor.log(words)

    def restore(self, *, reason: str) -> None:
        """The last checkpoint: a step that ended amid its update may have lost weights, or changed some devices'."""
        step = self._state.progress.step
        self._state.wait()
        self._state.resume()
        self._take_up()
        if (back := self._state.progress.step) < step:
            self._incidents.add("went back", step=step, to_step=back, reason=f"{reason} amid a step")
            self._monitor.log(f"{reason} amid a step: back from step {step} to {back}, whose weights are whole")

    def _take_up(self) -> None:
        self._skipped = SkippedStepTracker(self._state.skipped_in_row)
        self._monitor.rewind(self._state.progress.step)

    def roll_back(self) -> None:
        """To the last checkpoint from before the steps that were skipped, at a lower rate.

        Raises:
            UserError: there is none, or the run went back before.
        """
        step, skipped, factor = self._state.progress.step, self._skipped.consecutive, self._config.rate_factor
        self._state.roll_back(skipped=skipped, rate_factor=factor)
        back = self._state.progress.step
        self._incidents.add("went back", step=step, to_step=back, skipped_in_row=skipped, rate_factor=factor)
        self._take_up()
        self._monitor.log(f"{skipped} steps in a row were no numbers: back to step {back}, at {factor} of the rate")

    def reduce_bucket(self, bucket: Bucket) -> None:
        """Fewer clips in a bucket that does not fit.

        Raises:
            UserError: a device gets one clip of it.
        """
        clips, step = self._feed.reduce_bucket(bucket), self._state.progress.step
        self._state.change_data_order(self._feed.train.fingerprint)
        self._incidents.add("out of memory", step=step, bucket=list(bucket), clips=clips)
        self._monitor.log(f"out of memory in bucket {bucket} (clips×frames×tokens): {clips} clips there from now on")
