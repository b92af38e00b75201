"""Output of `myxtts-train tune`: a table of the trials, and a config file that gives a reason for each choice."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import yaml
from rich.table import Table

from shared.config_schema import printable
from shared.errors import UserError
from shared.files import write_bytes
from trainer.tools.tune import Tuned


def trials_table(tuned: Tuned) -> Table:
    """A row for each trial of the step, in the order in which they were made."""
    title = f"Steps on full batches of the longest clips, {tuned.machine}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("precision", "rematerialise", "microbatches", "frames", "compiling\ns", "frames/s"):
        table.add_column(name, justify="right", no_wrap=True)
    if any(one.memory_mib is not None for one in tuned.trials):
        table.add_column("GPU\nMiB", justify="right", no_wrap=True)
    for one in tuned.trials:
        precision, recomputed, parts, frames = one.settings
        measured = [f"{one.compile_s:,.0f}", f"{one.frames_per_s:,.0f}"] if one.fits else ["–", "does not fit"]
        memory = [] if one.memory_mib is None else [f"{one.memory_mib:,.0f}"]
        table.add_row(precision, "yes" if recomputed else "no", str(parts), f"{frames:,}", *measured, *memory)
    return table


def check_config_path(path: Path, *, data: Path) -> None:
    """Raise UserError unless a new file can be written there, outside the dataset."""
    if data.resolve() in path.resolve().parents:
        raise UserError(f"{path}: inside the dataset {data}, to which nothing may be added; give another --out")
    if path.exists():
        raise UserError(f"{path}: exists; expected the path of a new config file with --out")
    folder = path.absolute().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UserError(f"{path}: {folder} is no folder that can be written to; create it, or give another --out")


def write_tuned_config(tuned: Tuned, *, path: Path, source: Path, data: str) -> None:
    """Write the tuned config, with comments on what was chosen and why; `auto: true` of the source is left out."""
    chosen = {key: value for key, value in tuned.document.items() if key != "auto"}
    document = yaml.safe_dump(chosen, sort_keys=False, allow_unicode=True, width=120)
    lines = _head(tuned, path=path, source=source, data=data)
    head = "".join(f"# {printable(line)}".rstrip() + "\n" for line in lines)
    write_bytes(path, (head + "\n" + document).encode())


def _head(tuned: Tuned, *, path: Path, source: Path, data: str) -> Iterator[str]:
    yield f"{source}, tuned for {data} on {tuned.machine}."
    yield ""
    yield f"  make train CONFIG={shlex.quote(str(path))} DATA={shlex.quote(data)} RUN=…"
    yield ""
    yield "Chosen by `make tune`:"
    yield from (f"  {one}" for one in tuned.choices)
    yield from (f"  {key}: as given on the command line" for key in tuned.kept)
    yield ""
    yield "With these settings:"
    yield from (f"  {line}" for line in tuned.lines)
