"""Output of `myxtts-train profile`: a table, conclusions in lines, and `profile.json`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from shared.errors import UserError, writing
from shared.files import write_json
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_count import format_seconds
from trainer.tools.profile import Profile, ShapeCost

NARROW_INPUT = 1.5  # times as fast as the steps; training needs cores for other work too


def profile_table(profile: Profile) -> Table:
    """A row for each batch shape."""
    title = f"A step on {profile.devices}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("clips", "frames", "tokens", "batches\nepoch 0", "compiling\ns", "step\nms", "frames/s", "GFLOP/s"):
        table.add_column(name, justify="right", no_wrap=True)
    if any(one.memory_mib is not None for one in profile.shapes):
        table.add_column("GPU\nMiB", justify="right", no_wrap=True)
    for one in profile.shapes:
        table.add_row(*(f"{size:,}" for size in one.bucket), f"{one.batches:,}", *_measured(one))
    return table


def _measured(one: ShapeCost) -> Iterator[str]:
    if not one.fits:
        yield "–"
        return
    yield format_seconds(one.compile_s)
    yield f"{1000 * one.step_s:,.0f}" if one.step_s >= 0.1 else f"{1000 * one.step_s:.1f}"
    yield f"{one.bucket.clips * one.bucket.frames / one.step_s:,.0f}"
    yield f"{1e-9 * one.flops_per_s:,.0f}"
    if one.memory_mib is not None:
        yield f"{one.memory_mib:,.0f}"


def profile_lines(profile: Profile) -> Iterator[str]:
    """Conclusions from the table."""
    for one in profile.shapes:
        if not one.fits:
            yield f"{one.bucket} does not fit into memory: {_what_training_does(one, devices=profile.device_count)}"
    yield (
        "settings for the choice of the number of shapes: "
        f"input.costs.compile_s={profile.compile_s:.3g} input.costs.step_s_per_1000_frames={profile.frames_s:.3g}"
    )
    yield from run_lines(profile)


def run_lines(profile: Profile) -> Iterator[str]:
    """How long a run would take, and whether it would wait for the input."""
    if profile.epoch_s is not None and profile.run_s is not None:
        yield (
            f"epoch 0: {profile.batches:,} batches, {_duration(profile.epoch_s)}; {profile.steps:,} steps: "
            f"{_duration(profile.run_s)}, without compilation, validation and checkpoints"
        )
    if profile.input_over_steps is not None:
        yield f"the input alone: {profile.input_over_steps:.1f} times as fast as the steps{_advice(profile)}"


def _what_training_does(one: ShapeCost, *, devices: int) -> str:
    if one.bucket.per_device(devices).clips > 1:
        return "training would put fewer clips into its batches"
    return "training would end; lower input.max_frames or model.size, or free the device"


def _advice(profile: Profile) -> str:
    assert profile.input_over_steps is not None
    if profile.input_over_steps >= NARROW_INPUT:
        return ""
    if not profile.stores_mels:
        return ", computing mels; training would wait for it: store them instead (`mel_dtype=float16`)"
    return "; training would wait for it: raise input.num_parallel_reads, or give it more cores or a faster disk"


def _duration(seconds: float) -> str:
    """Seconds, minutes from 10 on, or hours from 10 on."""
    if seconds < 600:
        return f"{format_seconds(seconds)} s"
    return f"{seconds / 60:,.0f} min" if seconds < 600 * 60 else f"{seconds / 3600:,.0f} h"


def write_profile(profile: Profile, *, config: TrainConfig, data: str, out: Path) -> None:
    """Write `OUT/profile.json`.

    Raises:
        UserError: the file cannot be written.
    """
    path = out / "profile.json"
    names = ("devices", "steps", "input_over_steps", "epoch_s", "run_s")
    facts = {"data": data, "config": config.model_dump(mode="json")}
    facts |= {name: getattr(profile, name) for name in names}
    costs = {"compile_s": profile.compile_s, "frames_s": profile.frames_s}
    shapes = [one.bucket._asdict() | dict(list(one._asdict().items())[1:]) for one in profile.shapes]
    with writing(path, advice="the measurements are printed above"):
        write_json(path, {**facts, "costs": costs, "shapes": shapes})


def make_output_folder(out: Path, *, data: Path) -> None:
    """Create the folder of the profile.

    Raises:
        UserError: the folder is inside the dataset, or cannot be created.
    """
    if data.resolve() in (out.resolve(), *out.resolve().parents):
        raise UserError(
            f"{out}: inside the dataset {data}, to which nothing may be added; expected another folder with --out"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: cannot be created ({error.strerror}); expected a folder for the profile") from error
