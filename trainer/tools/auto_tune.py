"""`auto: true`: a run begins with the settings that `myxtts-train tune` would choose, and keeps these settings.

RUN/tuning.json     the machine, the chosen settings, and a reason for each of them
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic

from shared.config import Document
from shared.errors import UserError, writing
from shared.files import write_json
from trainer.config.presets import merged
from trainer.tools.tune import Tuned, Tuner, leaves, nested

STEPS = 10  # in each row of steps that is timed


class Tuning(pydantic.BaseModel):
    """The content of `tuning.json`."""

    machine: str
    settings: dict[str, Any]  # by key, such as model.precision
    reasons: dict[str, str]  # by key


def auto_tuned(document: Document, *, given: Document, data: Path, run: Path, log: Callable[[str], object]) -> Document:
    """Return a run's config with the settings that were chosen when the run began; choose them if it begins now.

    Args:
        document: the config, with what was given on the command line.
        given: what was given on the command line alone; these settings keep their values.

    Raises:
        UserError: no setting makes the training fit into memory, the dataset cannot be trained on, or `tuning.json` is
            damaged or cannot be written.
    """
    path = run / "tuning.json"
    if path.exists():
        tuning = _read(path)
        log(f"settings as tuned on {tuning.machine} (auto): {path}; remove this file to tune again")
    else:
        log("auto: choosing precision, microbatches, batch shapes and input by trials")
        tuner = Tuner(document=document, given=given, data=data, steps=STEPS, raise_batch=False, log=log)
        tuning = _keep(tuner.tune(), path=path, log=log)
    fixed = set(leaves(given))
    for key, value in tuning.settings.items():
        if key not in fixed:
            document = merged(document, overrides=nested(key, value))
    return document


def _keep(tuned: Tuned, *, path: Path, log: Callable[[str], object]) -> Tuning:
    for line in (*map(str, tuned.choices), *tuned.lines):
        log(line)
    settings = {one.key: one.value for one in tuned.choices}
    reasons = {one.key: one.reason for one in tuned.choices}
    tuning = Tuning(machine=tuned.machine, settings=settings, reasons=reasons)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, tuning)
    return tuning


def _read(path: Path) -> Tuning:
    try:
        return Tuning.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged; remove the file, and the settings are chosen anew") from error
