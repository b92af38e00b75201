"""What a run is fed: its plan, as memory allows it, and the streams of both splits."""

from __future__ import annotations

from pathlib import Path

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo, add_bucket_limit
from trainer.config.train_config import TrainConfig
from trainer.data.buckets import Bucket
from trainer.data.pipeline import Stream
from trainer.data.plan import Ceiling, Plan, plan_dataset
from trainer.monitoring.input_tables import sampling_line

MAX_EXCESS = 0.01  # of padding, over the planned share
REDUCTION = 0.75  # of the clips of a bucket that is too large


class DataModule:
    """The streams; other ones after a bucket was lowered."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo, devices: int):
        """
        Args:
            devices: that share each batch in training; a batch of validation is no larger than the part of one.
        """
        self._config, self._dataset, self._run, self._devices = config, dataset, run, devices
        self._whole = plan_dataset(
            dataset, config=config.input, frames_per_step=config.model.frames_per_step, steps=info.planned_steps
        )
        self._use(self._whole.below(info.ceilings, devices=devices))

    def _use(self, plan: Plan) -> None:
        self.plan, self.validation_plan = plan, plan.part(self._devices)
        self.train, self.validation = (
            Stream(self._dataset, split=split, plan=plan, config=self._config.input, seed=self._config.seed)
            for split, plan in (("train", self.plan), ("validation", self.validation_plan))
        )

    @property
    def stores_mels(self) -> bool:
        """Whether they are in the shards, or made of the recordings here."""
        return self._dataset.info.contract.stores_mels

    def summary_lines(self) -> list[str]:
        """What training is fed, in words."""
        plan = self.plan.lines(config=self._config.input, steps=self._config.steps)
        return [*plan, *self._coarse_epochs(), *filter(None, [sampling_line(self.plan.mix)])]

    def _coarse_epochs(self) -> list[str]:
        """A line where an epoch has more padding than planned, as each chunk has half-full last batches of its own."""
        planned, real = self.plan.staircase.padding, self.train.first_epoch().total_padding(self.plan.buckets)
        if real <= planned + MAX_EXCESS:
            return []
        return [
            f"padding of epoch 0: {real:.1%}, planned {planned:.1%}; a larger input.chunk_bytes "
            f"(now {self._config.input.chunk_bytes:,}) or fewer input.buckets come nearer to the plan"
        ]

    def planned_bucket(self, shape: Bucket) -> Bucket:
        """The whole bucket of a batch's shape, or of the part of a batch that a device gets."""
        return next(bucket for bucket in self.plan.buckets if bucket[1:] == shape[1:])

    def reduce_bucket(self, bucket: Bucket) -> int:
        """Fewer clips in a bucket that does not fit into memory, in all that goes on from here; how many.

        Raises:
            UserError: a device gets one clip of it.
        """
        clips = bucket.part(self._devices).clips
        if clips == 1:
            raise UserError(
                f"out of memory: a single clip of {bucket.frames} frames and {bucket.tokens} tokens does not fit; "
                "lower input.max_frames or model.size, or free the device"
            )
        ceiling = Ceiling(max(1, int(REDUCTION * clips)), bucket.frames, bucket.tokens)
        damaged = self.train.damaged, self.validation.damaged
        self._use(self._whole.below(add_bucket_limit(self._run, ceiling).ceilings, devices=self._devices))
        self.train.damaged, self.validation.damaged = damaged
        return self._devices * ceiling.clips
