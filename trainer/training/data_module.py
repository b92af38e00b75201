"""The input of a run: its bucket plan, and the batch streams of training and validation."""

from __future__ import annotations

import functools
from pathlib import Path

from shared.dataset import Dataset
from shared.errors import UserError
from shared.messages import counted
from shared.vocabulary import Vocabulary
from trainer.checkpoint.run_dir import RunInfo, add_bucket_limit, set_bucket_limits
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.pipeline import Stream
from trainer.data.plan import BucketLimit, Plan, plan_dataset
from trainer.monitoring.input_tables import sampling_line

MAX_EXCESS_PADDING = 0.01  # share of padding above the planned one that is worth a log line
MIN_REFERENCE_SHARE = 0.95  # of clips with another clip of the speaker, below which there is advice
MIN_FRAMES_PER_DEVICE = 8_000  # half of the default batch
REDUCTION = 0.75  # of the clips in a bucket that does not fit into memory


class DataModule:
    """Bucket plan and streams of a run; `reduce_bucket` replaces them."""

    def __init__(
        self,
        config: TrainConfig,
        *,
        dataset: Dataset,
        run: Path,
        info: RunInfo,
        devices: int,
        vocabulary: Vocabulary | None = None,
        held_out: str = "validation",
    ):
        """
        Args:
            devices: number of devices that share a training batch; a validation batch is as large as one device's part.
            vocabulary: of the model; None: the dataset's.
            held_out: the split that `validation` streams, validation or test.
        """
        self._config, self._dataset, self._run, self._devices = config, dataset, run, devices
        self._vocabulary = vocabulary
        self._full_plan = plan_dataset(
            dataset,
            config=config.input,
            frames_per_step=config.model.frames_per_step,
            steps=info.planned_steps,
            held_out=held_out,
        )
        self._limits_at_start = info.ceilings
        self._set_plan(self._full_plan.with_limits(info.ceilings, devices=devices))

    def _set_plan(self, plan: Plan) -> None:
        self.__dict__.pop("padding", None)  # that of another plan
        self.plan, self.validation_plan = plan, plan.per_device(self._devices)
        self.train, self.validation = (
            Stream(
                self._dataset,
                split=split,
                plan=plan,
                config=self._config.input,
                seed=self._config.seed,
                vocabulary=self._vocabulary,
                crop_frames=self._config.model.crop_frames,
            )
            for split, plan in (("train", self.plan), (self.plan.held_out, self.validation_plan))
        )

    @property
    def stores_mels(self) -> bool:
        """True if the shards hold mels; otherwise the input pipeline computes them from recordings."""
        return self._dataset.info.contract.stores_mels

    def summary_lines(self) -> list[str]:
        """Return the plan, padding and sampling shares as lines for the log."""
        plan = self.plan.lines(config=self._config.input, steps=self._config.steps)
        sampling = filter(None, [sampling_line(self.plan.sampling_shares)])
        more = (*self._limit_lines(), *self._padding_lines(), *self._small_share_lines(), *self._reference_lines())
        return [*plan, *sampling, *more]

    def _limit_lines(self) -> list[str]:
        """Return a line if earlier sessions of the run reduced batches that did not fit into memory."""
        if not self._limits_at_start:
            return []
        return [
            f"batches may be smaller than planned: {counted(len(self._limits_at_start), 'limit')} of earlier "
            f"out-of-memory events in {self._run / 'run.json'}; another RUN, with init_from={self._run}, has none"
        ]

    def _reference_lines(self) -> list[str]:
        """Return a line on references from other clips, if the settings ask for such ones."""
        if (share := self.train.share_with_references()) is None:
            return []
        line = f"references from other clips (input.reference): {share:.1%} of the clips have one of their speaker"
        more = "" if share > MIN_REFERENCE_SHARE else "; a larger input.chunk_bytes reads more clips of each together"
        return [f"{line} in the same chunk{more}"]

    def _small_share_lines(self) -> list[str]:
        """Return a line if each of several devices gets few frames, which leaves a GPU idle between its kernels."""
        frames = self._config.input.global_frames_per_batch
        if self._devices == 1 or frames // self._devices >= MIN_FRAMES_PER_DEVICE:
            return []
        advised = self._devices * MIN_FRAMES_PER_DEVICE
        return [
            f"{self._devices} devices share {frames:,} frames a step, {frames // self._devices:,} for each; GPUs are "
            f"better used by input.global_frames_per_batch={advised} or more"
        ]

    @functools.cached_property  # it goes through the whole epoch
    def padding(self) -> float:
        """The share of padding in the frames of the first epoch's batches."""
        return self.train.first_epoch_stats().total_padding(self.plan.buckets)

    def _padding_lines(self) -> list[str]:
        """Return a line if an epoch has more padding than planned: each chunk ends in batches that are not full."""
        planned, real = self.plan.bucket_plan.padding, self.padding
        if real <= planned + MAX_EXCESS_PADDING:
            return []
        return [
            f"padding of epoch 0: {real:.1%}, planned {planned:.1%}; a larger input.chunk_bytes "
            f"(now {self._config.input.chunk_bytes:,}) or fewer input.buckets come closer to the plan"
        ]

    def planned_bucket(self, shape: Bucket) -> Bucket:
        """Return the planned bucket of a batch's shape; `shape` may be that of one device's part."""
        return next(bucket for bucket in self.plan.buckets if bucket[1:] == shape[1:])

    def reduce_bucket(self, bucket: Bucket) -> int:
        """Reduce the batch size of a bucket that does not fit into memory, for the rest of the run.

        Returns:
            The new number of clips in a batch of all devices.

        Raises:
            UserError: a device already gets a single clip of the bucket.
        """
        clips = bucket.per_device(self._devices).clips
        if clips == 1:
            set_bucket_limits(self._run, self._limits_at_start)  # the device may have room at the next start
            raise UserError(
                f"out of memory: a single clip of {bucket.frames} frames and {bucket.tokens} tokens does not fit; "
                "lower input.max_frames or model.size, or free the device"
            )
        ceiling = BucketLimit(max(1, int(REDUCTION * clips)), bucket.frames, bucket.tokens)
        damaged = self.train.corrupt_records, self.validation.corrupt_records
        limits = add_bucket_limit(self._run, ceiling).ceilings
        self._set_plan(self._full_plan.with_limits(limits, devices=self._devices))
        self.train.corrupt_records, self.validation.corrupt_records = damaged
        return self._devices * ceiling.clips
