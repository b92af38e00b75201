"""What the input of a run is to be, from the manifests alone: shapes of batches, how often each record is heard."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import SPLITS
from trainer.config.data_config import InputConfig
from trainer.data.bucket_count import Choice, cheapest, explain
from trainer.data.sampling import Portion, mixed_rates, portions
from trainer.data.manifest_rows import Rows, read_rows
from trainer.data.buckets import Bucket, Limits, Staircase, measure_lengths, plan_staircases

# More shapes than this pay for no run.
MAX_CHOSEN = 32
SHOWN_LONGEST = 5
GROUPED = ("language", "source", "speaker")


class LeftOut(NamedTuple):
    """Records of a split that are longer than `max_frames`."""

    records: int
    share: float
    hours: float
    longest: tuple[tuple[str, int], ...]  # utterance and frames

    def __str__(self) -> str:
        longest = ", ".join(f"{name} ({frames:,} frames)" for name, frames in self.longest)
        more = ", …" if self.records > len(self.longest) else ""
        return f"{self.records:,} records ({self.share:.2%}, {self.hours:.2f} h): {longest}{more}"


class Ceiling(NamedTuple):
    """What a device's memory was found to hold: at most so many clips of so many frames and tokens, or of more."""

    clips: int
    frames: int
    tokens: int


class Plan(NamedTuple):
    """What a run's input is made of."""

    staircase: Staircase
    rates: dict[str, np.ndarray]  # by split: times that an epoch hears each row of the manifests, [rows] float32
    mix: dict[str, list[Portion]]  # of training, by "language", "source" and "speaker"
    left_out: dict[str, LeftOut]  # by split, where there are any
    choices: tuple[Choice, ...]  # what each number of shapes would cost, those that are no better than fewer left out
    steps: int  # of the run
    epochs: float  # that these hold at most: with as many shapes as there can be

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        return self.staircase.buckets

    def below(self, ceilings: Iterable[Ceiling], *, devices: int) -> Plan:
        """The plan with fewer clips in the buckets that the ceilings are over, each of which holds on every device."""
        ceilings = tuple(ceilings)

        def lowered(one: Bucket) -> Bucket:
            over = (it.clips for it in ceilings if it.frames <= one.frames and it.tokens <= one.tokens)
            return one._replace(clips=min([one.clips, *(devices * clips for clips in over)]))

        return self._replace(staircase=self.staircase._replace(buckets=tuple(map(lowered, self.buckets))))

    def part(self, devices: int) -> Plan:
        """The plan with batches that are no larger than what each of so many devices gets of one."""
        buckets = tuple(one.part(devices) for one in self.buckets)
        return self._replace(staircase=self.staircase._replace(buckets=buckets))

    @property
    def explanation(self) -> str:
        """How many shapes pay, in one line."""
        return explain(self.choices, epochs=self.epochs)

    @property
    def left_out_lines(self) -> list[str]:
        """A line for each split that leaves out records."""
        return [f"left out of {split}, longer than input.max_frames: {one}" for split, one in self.left_out.items()]

    def lines(self, *, config: InputConfig, steps: int) -> list[str]:
        """The plan in words, for the start of a run that now has so many steps."""
        chosen = [self.explanation, *self._outgrown(steps)] if config.buckets is None else []
        return [str(self.staircase), *self.staircase.coarseness, *chosen, *self.left_out_lines, *self.sampled_lines]

    @property
    def sampled_lines(self) -> list[str]:
        """A line where not all of the validation split judges."""
        rates, left_out = self.rates["validation"], self.left_out.get("validation")
        judging, whole = np.count_nonzero(rates), len(rates) - (left_out.records if left_out else 0)
        if judging == whole:
            return []
        return [
            f"validations judge by {judging:,} of {whole:,} clips, of each source its share (input.validation_clips)"
        ]

    def _outgrown(self, steps: int) -> list[str]:
        """A line where another number of shapes would pay for so many steps."""
        choices = tuple(one._replace(run_s=one.run_s * steps / self.steps) for one in self.choices)
        best, kept = cheapest(choices), next(one for one in choices if one.shapes == len(self.buckets))
        if best.shapes == kept.shapes:
            return []
        return [
            f"that was for {self.steps:,} steps; {steps:,} take {kept.total_s - best.total_s:,.0f} s less with "
            f"{best.shapes}: input.buckets={best.shapes} takes them, and begins a new epoch"
        ]


def plan_dataset(dataset: Dataset, *, config: InputConfig, frames_per_step: int, steps: int) -> Plan:
    """The input of a run of so many steps.

    Raises:
        UserError: there is nothing to train on, or a manifest is damaged.
    """
    rows = {split: read_rows(dataset, split=split) for split in SPLITS}
    return plan_rows(rows, dataset=dataset, config=config, frames_per_step=frames_per_step, steps=steps)


def plan_rows(
    rows: dict[str, Rows], *, dataset: Dataset, config: InputConfig, frames_per_step: int, steps: int
) -> Plan:
    """The same from the rows of both splits.

    Raises:
        UserError: there is nothing to train on.
    """
    train, kept = rows["train"], {split: _kept(one, config=config) for split, one in rows.items()}
    _refuse_nothing(train, kept["train"], config=config)
    weights = {name: source.weight for name, source in dataset.info.sources.items()}
    rates = {
        "train": mixed_rates(train, weights=weights, kept=kept["train"], config=config.sampling),
        "validation": _judging(rows["validation"], kept["validation"], clips=config.validation_clips),
    }
    staircases = _staircases(rows, rates=rates, config=config, frames_per_step=frames_per_step)
    epochs = steps / staircases[-1].batches
    choices = tuple(_choice(one, config=config, epochs=epochs) for one in staircases)
    chosen = cheapest(choices) if config.buckets is None else _most(choices, shapes=config.buckets)
    return Plan(
        staircases[choices.index(chosen)],
        rates,
        {name: portions(train, getattr(train, name), rates=rates["train"]) for name in GROUPED},
        {split: _left_out(one, kept[split]) for split, one in rows.items() if not kept[split].all()},
        choices,
        steps,
        epochs,
    )


def _kept(rows: Rows, *, config: InputConfig) -> np.ndarray:
    """Whether each row is short enough, [rows] bool; a record that no shape of a batch will ever hold is left out."""
    return rows.frames <= (config.max_frames or np.inf)


def _judging(rows: Rows, kept: np.ndarray, *, clips: int | None) -> np.ndarray:
    """Of each source its share of so many clips, at least one, [rows] float32: the first, which are a fair sample, for
    the rows of a source stand in the order of their names' hashes, and few shards are read for them.
    """
    share = min(1.0, (clips or np.inf) / max(1, int(np.count_nonzero(kept))))
    rates = np.zeros(len(kept), np.float32)
    for code in range(len(rows.source.names)):
        own = kept & (rows.source.codes == code)
        rates[own & (np.cumsum(own) <= max(1, round(share * np.count_nonzero(own))))] = 1.0
    return rates


def _refuse_nothing(rows: Rows, kept: np.ndarray, *, config: InputConfig) -> None:
    if len(kept) == 0:
        raise UserError("the dataset has no training record; wanted one or more (is validation_fraction too high?)")
    if not kept.any():
        shortest = int(rows.frames.min())
        raise UserError(
            f"input.max_frames={config.max_frames} leaves out every training record; the shortest has {shortest} frames"
        )


def _staircases(
    rows: dict[str, Rows], *, rates: dict[str, np.ndarray], config: InputConfig, frames_per_step: int
) -> list[Staircase]:
    """Those of more and more buckets, each cheaper than the one before."""
    train, validation = rows["train"], rows["validation"]
    held = rates["validation"] > 0
    longest = int(validation.frames[held].max(initial=0)), int(validation.tokens[held].max(initial=0))
    found = plan_staircases(
        measure_lengths(train.frames, train.tokens, rates=rates["train"], frames_per_step=frames_per_step),
        limits=Limits(config.global_frames_per_batch, config.global_max_clips, at_least=longest),
        shapes=max(config.buckets or 0, MAX_CHOSEN),
        frames_per_step=frames_per_step,
    )
    kept: list[Staircase] = []
    for one in found:
        kept = [fewer for fewer in kept if len(fewer.buckets) < len(one.buckets)] + [one]
    return kept


def _most(choices: tuple[Choice, ...], *, shapes: int) -> Choice:
    return next(choice for choice in reversed(choices) if choice.shapes <= shapes)


def _choice(staircase: Staircase, *, config: InputConfig, epochs: float) -> Choice:
    shapes = len(staircase.buckets)
    epoch_s = staircase.padding_cost / 1_000 * config.costs.step_s_per_1000_frames
    return Choice(shapes, staircase.padding, shapes * config.costs.compile_s, epoch_s, epochs * epoch_s)


def _left_out(rows: Rows, kept: np.ndarray) -> LeftOut:
    places = np.nonzero(~kept)[0]
    longest = heapq.nlargest(SHOWN_LONGEST, places.tolist(), key=lambda place: rows.frames[place])
    return LeftOut(
        records=len(places),
        share=len(places) / len(kept),
        hours=float(rows.duration_s[places].sum()) / 3600,
        longest=tuple((rows.utterance_id[place].as_py(), int(rows.frames[place])) for place in longest),
    )
