"""Trials for `myxtts-train tune`, each in a process of its own, so that a trial without memory ends only itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from shared.errors import UserError
from trainer.config.train_config import TrainConfig

# how a process ends that gets no more memory of the host: killed by the system, by itself, or where it uses what it
# did not get
NO_MEMORY_SIGNALS = {signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV}

MAX_TRIAL_S = 3_600  # compiling the largest model for a GPU takes minutes


def run_trial(
    trial: Literal["devices", "step", "run"],
    *,
    config: TrainConfig,
    data: Path,
    steps: int,
    fixed: Collection[str],
    log: Callable[[str], object],
) -> dict[str, Any]:
    """Run a trial and return its facts; `fits` is False where memory did not suffice.

    Args:
        fixed: keys of settings that keep their values.

    Raises:
        UserError: the settings or the data are wrong, or the trial does not end.
        RuntimeError: the process failed for another reason; its standard error, which is this process's, says why.
    """
    request = {"trial": trial, "config": config.model_dump(mode="json"), "data": str(data), "steps": steps}
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "trainer.tools.tuning_process"],
            input=json.dumps(request | {"fixed": sorted(fixed)}),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=MAX_TRIAL_S,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"a trial did not end within {MAX_TRIAL_S:,} s: the driver of the GPU may hang, or the host swaps; tune "
            "again, or give the settings of the last trial above on the command line"
        ) from error
    facts: dict[str, Any] = {"fits": False}
    for line in ended.stdout.splitlines():
        facts |= json.loads(line)
    if "error" in facts:
        raise UserError(facts["error"])
    if -ended.returncode in NO_MEMORY_SIGNALS:
        name = signal.Signals(-ended.returncode).name
        log(f"    ended by {name}: if the memory was full, it was that of the host")
        return facts | {"fits": False}
    if ended.returncode:
        raise RuntimeError(f"a trial ended with exit code {ended.returncode}")
    return facts
