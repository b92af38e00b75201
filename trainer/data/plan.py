"""Plans the input of a run from the manifests alone: batch shapes, sampling rates, excluded records."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.config.data_config import InputConfig
from trainer.data.bucket_count import BucketCountOption, cheapest_option, explain_bucket_count
from trainer.data.bucket_types import BatchLimits, Bucket, BucketPlan
from trainer.data.buckets import length_histogram, plan_buckets
from trainer.data.manifest_rows import ManifestRows, read_manifest_rows
from trainer.data.sampling import SamplingShare, sampling_rates, sampling_shares

MAX_CHOSEN = 32  # batch shapes; no run is long enough to pay for more
SHOWN_LONGEST = 5
GROUPED = ("language", "source", "speaker")


class ExcludedRecords(NamedTuple):
    """Records of a split that are longer than `max_frames`."""

    records: int
    share: float
    hours: float
    longest: tuple[tuple[str, int], ...]  # utterance and frames

    def __str__(self) -> str:
        longest = ", ".join(f"{name} ({frames:,} frames)" for name, frames in self.longest)
        more = ", …" if self.records > len(self.longest) else ""
        return f"{self.records:,} records ({self.share:.2%}, {self.hours:.2f} h): {longest}{more}"


class BucketLimit(NamedTuple):
    """The capacity of a device's memory, as found: at most this many clips with so many frames and tokens or more."""

    clips: int
    frames: int
    tokens: int


class Plan(NamedTuple):
    """The planned input of a run."""

    bucket_plan: BucketPlan
    rates: dict[str, np.ndarray]  # by split: how often an epoch samples each row of the manifests, [rows] float32
    sampling_shares: dict[str, list[SamplingShare]]  # of training, by "language", "source" and "speaker"
    excluded: dict[str, ExcludedRecords]  # by split; a split without any is absent
    choices: tuple[BucketCountOption, ...]  # numbers of shapes, without those that pad no less than a smaller number
    steps: int  # of the run
    epochs: float  # in these steps, at most: with the largest number of shapes

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        return self.bucket_plan.buckets

    @property
    def held_out(self) -> str:
        """The split on which the model is evaluated, validation or test."""
        return next(split for split in self.rates if split != "train")

    def with_limits(self, limits: Iterable[BucketLimit], *, devices: int) -> Plan:
        """The plan with fewer clips in buckets that exceed a limit; each limit holds on every device."""
        limits = tuple(limits)

        def limited(one: Bucket) -> Bucket:
            exceeded = (it.clips for it in limits if it.frames <= one.frames and it.tokens <= one.tokens)
            return one._replace(clips=min([one.clips, *(devices * clips for clips in exceeded)]))

        return self._replace(bucket_plan=self.bucket_plan._replace(buckets=tuple(map(limited, self.buckets))))

    def per_device(self, devices: int) -> Plan:
        """The plan with batches as large as the part of each that one of `devices` devices gets."""
        buckets = tuple(one.per_device(devices) for one in self.buckets)
        return self._replace(bucket_plan=self.bucket_plan._replace(buckets=buckets))

    @property
    def explanation(self) -> str:
        """One line: why the plan has this number of shapes."""
        return explain_bucket_count(self.choices, epochs=self.epochs)

    @property
    def excluded_lines(self) -> list[str]:
        """A line for each split with excluded records."""
        return [f"left out of {split}, longer than input.max_frames: {one}" for split, one in self.excluded.items()]

    def lines(self, *, config: InputConfig, steps: int) -> list[str]:
        """A description of the plan for the start of a run that now has `steps` steps."""
        chosen = [self.explanation, *self._outgrown(steps)] if config.buckets is None else []
        plan = self.bucket_plan
        return [str(plan), *plan.coarseness, *chosen, *self.excluded_lines, *self.validation_subset_lines]

    @property
    def validation_subset_lines(self) -> list[str]:
        """One line if a part of the held-out split is used, none if all of it is."""
        rates, excluded = self.rates[self.held_out], self.excluded.get(self.held_out)
        used, whole = np.count_nonzero(rates), len(rates) - (excluded.records if excluded else 0)
        if used == whole:
            return []
        return [
            f"{self.held_out} uses {used:,} of {whole:,} clips, a proportional share of each source "
            "(input.validation_clips)"
        ]

    def _outgrown(self, steps: int) -> list[str]:
        """One line if another number of shapes would be cheaper for `steps` steps."""
        choices = tuple(one._replace(run_s=one.run_s * steps / self.steps) for one in self.choices)
        best, kept = cheapest_option(choices), next(one for one in choices if one.shapes == len(self.buckets))
        if best.shapes == kept.shapes:
            return []
        return [
            f"that was for {self.steps:,} steps; {steps:,} take {kept.total_s - best.total_s:,.0f} s less with "
            f"{best.shapes}: input.buckets={best.shapes} takes them, and begins a new epoch"
        ]


def plan_dataset(
    dataset: Dataset, *, config: InputConfig, frames_per_step: int, steps: int, held_out: str = "validation"
) -> Plan:
    """Plan the input of a run of `steps` steps.

    Args:
        held_out: the split on which the model is evaluated, validation or test.

    Raises:
        UserError: there is nothing to train on, or a manifest is damaged.
    """
    rows = {split: read_manifest_rows(dataset, split=split) for split in ("train", held_out)}
    return plan_rows(rows, dataset=dataset, config=config, frames_per_step=frames_per_step, steps=steps)


def plan_rows(
    rows: dict[str, ManifestRows], *, dataset: Dataset, config: InputConfig, frames_per_step: int, steps: int
) -> Plan:
    """Plan the input of a run from the manifest rows of the training split and of one that is held out.

    Raises:
        UserError: there is nothing to train on.
    """
    (held_out,) = rows.keys() - {"train"}
    train, kept = rows["train"], {split: _kept(one, config=config) for split, one in rows.items()}
    _refuse_nothing(train, kept["train"], config=config)
    weights = {name: source.weight for name, source in dataset.info.sources.items()}
    rates = {
        "train": sampling_rates(train, weights=weights, kept=kept["train"], config=config.sampling),
        held_out: _validation_subset(rows[held_out], kept[held_out], clips=_max_clips(held_out, config=config)),
    }
    longest = _longest(rows[held_out], rates=rates[held_out])
    bucket_plans = _bucket_plans(
        train, rates=rates["train"], longest=longest, config=config, frames_per_step=frames_per_step
    )
    epochs = steps / bucket_plans[-1].batches
    choices = tuple(_choice(one, config=config, epochs=epochs) for one in bucket_plans)
    chosen = cheapest_option(choices) if config.buckets is None else _largest(choices, shapes=config.buckets)
    return Plan(
        bucket_plans[choices.index(chosen)],
        rates,
        {name: sampling_shares(train, getattr(train, name), rates=rates["train"]) for name in GROUPED},
        {split: _excluded(one, kept[split]) for split, one in rows.items() if not kept[split].all()},
        choices,
        steps,
        epochs,
    )


def _kept(rows: ManifestRows, *, config: InputConfig) -> np.ndarray:
    """True for rows that are short enough, [rows] bool; no batch shape will hold the others."""
    return rows.frames <= (config.max_frames or np.inf)


def _max_clips(held_out: str, *, config: InputConfig) -> int | None:
    """The number of clips that are used; None: all, as for a test, which is made once and not at each validation."""
    return config.validation_clips if held_out == "validation" else None


def _validation_subset(rows: ManifestRows, kept: np.ndarray, *, clips: int | None) -> np.ndarray:
    """1 for the rows that validation uses, [rows] float32: about `clips`, in proportion from each source, at least one.

    The first rows of a source are a fair sample, because rows are in the order of their ids' hashes; and few shards
    have to be read for them.
    """
    share = min(1.0, (clips or np.inf) / max(1, int(np.count_nonzero(kept))))
    rates = np.zeros(len(kept), np.float32)
    for code in range(len(rows.source.names)):
        own = kept & (rows.source.codes == code)
        rates[own & (np.cumsum(own) <= max(1, round(share * np.count_nonzero(own))))] = 1.0
    return rates


def _refuse_nothing(rows: ManifestRows, kept: np.ndarray, *, config: InputConfig) -> None:
    if len(kept) == 0:
        raise UserError("the dataset has no training record: are validation_fraction and test_fraction too high?")
    if not kept.any():
        shortest = int(rows.frames.min())
        raise UserError(
            f"input.max_frames={config.max_frames} leaves out every training record; the shortest has {shortest} frames"
        )


def _longest(rows: ManifestRows, *, rates: np.ndarray) -> tuple[int, int]:
    """The largest numbers of frames and of tokens of the clips that are used."""
    return int(rows.frames[rates > 0].max(initial=0)), int(rows.tokens[rates > 0].max(initial=0))


def _bucket_plans(
    train: ManifestRows, *, rates: np.ndarray, longest: tuple[int, int], config: InputConfig, frames_per_step: int
) -> list[BucketPlan]:
    """Plans of more and more buckets, each cheaper than the one before; the largest bucket holds `longest`, too."""
    plans = plan_buckets(
        length_histogram(train.frames, train.tokens, rates=rates, frames_per_step=frames_per_step),
        limits=BatchLimits(config.global_frames_per_batch, config.global_max_clips, at_least=longest),
        shapes=max(config.buckets or 0, MAX_CHOSEN),
        frames_per_step=frames_per_step,
    )
    kept: list[BucketPlan] = []
    for one in plans:
        kept = [fewer for fewer in kept if len(fewer.buckets) < len(one.buckets)] + [one]
    return kept


def _largest(choices: tuple[BucketCountOption, ...], *, shapes: int) -> BucketCountOption:
    return next(choice for choice in reversed(choices) if choice.shapes <= shapes)


def _choice(plan: BucketPlan, *, config: InputConfig, epochs: float) -> BucketCountOption:
    shapes = len(plan.buckets)
    epoch_s = plan.padding_cost / 1_000 * config.costs.step_s_per_1000_frames
    return BucketCountOption(shapes, plan.padding, shapes * config.costs.compile_s, epoch_s, epochs * epoch_s)


def _excluded(rows: ManifestRows, kept: np.ndarray) -> ExcludedRecords:
    numbers = np.nonzero(~kept)[0]
    longest = heapq.nlargest(SHOWN_LONGEST, numbers.tolist(), key=lambda number: rows.frames[number])
    return ExcludedRecords(
        records=len(numbers),
        share=len(numbers) / len(kept),
        hours=float(rows.duration_s[numbers].sum()) / 3600,
        longest=tuple((rows.utterance_id[number].as_py(), int(rows.frames[number])) for number in longest),
    )
