"""Tables of `myxtts-train inspect-input`, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trainer.config.train_config import TrainConfig
from trainer.data.bucket_count import BucketCountOption, format_seconds
from trainer.data.inspection import Inspection
from trainer.data.sampling import SamplingShare

MAX_NAME = 18
SHOWN_PORTIONS = 12
# The numbers of shapes in the table, besides the chosen one and its neighbours.
SHOWN_SHAPES = (1, 2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64)


def inspection_tables(inspection: Inspection, *, config: TrainConfig) -> Group:
    """All tables, one below another."""
    return Group(*_parts(inspection, config=config))


def sampling_line(mix: dict[str, list[SamplingShare]]) -> str | None:
    """How often an epoch repeats the records of each group, in one line; None if there is one group of each kind."""
    ranges = [
        f"{kind} {min(one.repeats for one in groups):.2f} to {max(one.repeats for one in groups):.2f}"
        for kind, groups in mix.items()
        if len(groups) > 1
    ]
    if not ranges:
        return None
    return f"times that an epoch repeats a record, by {'; by '.join(ranges)}; `myxtts-train inspect-input` has a table"


def _parts(inspection: Inspection, *, config: TrainConfig) -> Iterator[RenderableType]:
    plan = inspection.plan
    yield _buckets(inspection)
    yield Text()
    yield Text("\n".join([_epochs(inspection, config=config), *plan.bucket_plan.coarseness, ""]))
    yield _choices(plan.choices, chosen=len(plan.buckets), epochs=plan.epochs)
    yield Text(
        plan.explanation
        if config.input.buckets is None
        else f"input.buckets={config.input.buckets} is set; without it: {plan.explanation}"
    )
    yield from (Text(), _mix(plan.sampling_shares))
    yield from (Text(), _longest(inspection))
    yield from map(Text, [*plan.excluded_lines, *plan.validation_subset_lines])


def _buckets(inspection: Inspection) -> Table:
    plan, epoch = inspection.plan, inspection.first_epoch
    real, records = epoch.padding(plan.buckets), plan.bucket_plan.records
    table = _table("Batches", "clips", "frames", "tokens", "MiB")
    for name in ("records\nplanned", "padding\nplanned", "records\nepoch 0", "batches\nepoch 0", "padding\nepoch 0"):
        table.add_column(name, justify="right")
    for place, bucket in enumerate(plan.buckets):
        table.add_row(
            *(f"{size:,}" for size in bucket),
            f"{inspection.batch_bytes[place] / 2**20:.2f}",
            f"{records[place]:,.0f}",
            f"{inspection.padding[place]:.1%}",
            f"{epoch.records[place]:,}",
            f"{epoch.batches[place]:,}",
            f"{real[place]:.1%}",
        )
    table.add_section()
    table.add_row(
        *("all", "", "", "", f"{records.sum():,.0f}", f"{plan.bucket_plan.padding:.1%}"),
        *(f"{epoch.records.sum():,}", f"{epoch.batches.sum():,}", f"{epoch.total_padding(plan.buckets):.1%}"),
    )
    return table


def _epochs(inspection: Inspection, *, config: TrainConfig) -> str:
    epoch = inspection.first_epoch
    total_bytes = int(epoch.batches @ inspection.batch_bytes)
    return (
        f"epoch 0: {epoch.batches.sum():,} batches, {total_bytes / 2**20:,.1f} MiB to the device; "
        f"{config.steps:,} steps are {config.steps / max(epoch.batches.sum(), 1):,.1f} epochs"
    )


def _choices(choices: tuple[BucketCountOption, ...], *, chosen: int, epochs: float) -> Table:
    title = f"Number of shapes: seconds of {epochs:,.1f} epochs, the most that the steps can hold"
    table = _table(title, "shapes", "padding", "padding, an epoch", "padding, the run", "compilation", "sum", "")
    near = {chosen - 1, chosen, chosen + 1}
    for one in choices:
        if one.shapes in SHOWN_SHAPES or one.shapes in near or one is choices[-1]:
            seconds = (one.epoch_s, one.run_s, one.compile_s, one.total_s)
            marks = "◄" if one.shapes == chosen else ""
            table.add_row(f"{one.shapes}", f"{one.padding:.1%}", *map(format_seconds, seconds), marks)
    return table


def _mix(mix: dict[str, list[SamplingShare]]) -> Table:
    names = ("records\nstored", "share\nstored", "share\nheard", "times\nheard", "records\nan epoch", "hours\nan epoch")
    table = _table("Sampling: an epoch of training on average", "", "", *names)
    for column in table.columns[:2]:
        column.justify = "left"
    for kind, portions in mix.items():
        rows = portions[:SHOWN_PORTIONS] + ([_together(rest)] if (rest := portions[SHOWN_PORTIONS:]) else [])
        for place, one in enumerate(rows):
            table.add_row("" if place else kind, *_portion_words(one), end_section=place == len(rows) - 1)
    table.add_row("all", *_portion_words(_together(mix["source"])._replace(name="")))
    return table


def _portion_words(one: SamplingShare) -> tuple[str, ...]:
    return (
        _shortened(one.name),
        f"{one.records:,}",
        f"{one.stored:.1%}",
        f"{one.sampled:.1%}",
        f"{one.repeats:.2f}",
        f"{one.epoch_records:,.0f}",
        f"{one.epoch_hours:,.2f}",
    )


def _together(rest: list[SamplingShare]) -> SamplingShare:
    records, epoch_records = sum(one.records for one in rest), sum(one.epoch_records for one in rest)
    return SamplingShare(
        f"{len(rest):,} more",
        records,
        sum(one.stored for one in rest),
        sum(one.sampled for one in rest),
        epoch_records / max(records, 1),
        epoch_records,
        sum(one.epoch_hours for one in rest),
    )


def _longest(inspection: Inspection) -> Table:
    table = _table("Longest clips", "utterance", "frames", "tokens")
    table.columns[0].justify, table.columns[0].no_wrap = "left", False
    for name, frames, tokens in inspection.longest:
        table.add_row(name, f"{frames:,}", f"{tokens:,}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
