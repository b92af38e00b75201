"""`myxtts-train tune` beside trying everything, on machines with less memory and fewer cores than this one.

    python -m tests.bench.tuning

A machine is simulated by limits of the trials' processes: their address space (setrlimit), which TensorFlow's allocator
meets like a full device, and the cores that they may use. The step is that of a `pico`, uncompiled, so that a trial
takes seconds. Where both searches choose other settings, these are timed again, in turns.
"""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config, read_yaml
from tests.bench.summary import add_row
from trainer.config.train_config import TrainConfig
from trainer.tools.step_search import StepSettings, Trial
from trainer.tools.tune import Tuner

CONFIG = "configs/train_sample.yaml"
WORDS = ["xla=false", "input.global_frames_per_batch=150000", "input.global_max_clips=1000"]
PRECISIONS, PARTS = ("float32", "bfloat16"), (1, 2, 4, 8, 16)
REPEATS = 3
LEAST = 0.97  # of the best speed


class Machine(NamedTuple):
    """What the trials may use."""

    cores: int
    memory_gib: float


MACHINES = (Machine(2, 24.0), Machine(2, 5.5), Machine(1, 5.75))


def main() -> None:
    """Print the speed of what is chosen relative to that of the best settings, for each machine."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        build_dataset(load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=[]), data=data)
        ratios = [_compare(one, data=data) for one in MACHINES]
    add_row(
        "tuning",
        "speed with tuned settings, of the best of all settings",
        measured=", ".join(f"{one:.3f}" for one in ratios),
        floor="best of all",
        bound=f"≥ {LEAST}",
        met=min(ratios) >= LEAST,
    )


def _compare(machine: Machine, *, data: Path) -> float:
    with _limited(machine):
        tuner = _tuner(data)
        chosen = tuner._search.best(tuner._start(), precisions=PRECISIONS, raise_batch=False)
        assert chosen is not None
        tried = len(tuner._search.trials)
        every = [tuner._search.try_step(one) for one in _all_settings(tuner._start())]
        best = max((one for one in every if one.fits), key=lambda one: one.frames_per_s)
        ratio = 1.0 if best.settings == chosen.settings else _in_turns(tuner, chosen, best)
    without_room = sum(not one.fits for one in every)
    print(f"{machine.cores} cores, {machine.memory_gib} GiB: {without_room} of {len(every)} settings do not fit")
    print(f"    tuned in {tried} trials: {chosen.settings}: {chosen}")
    print(
        f"    best of {len(every)}: {best.settings}: {best}; ratio {ratio:.3f}, expected at least {LEAST}", flush=True
    )
    return ratio


def _tuner(data: Path) -> Tuner:
    document = TrainConfig.overridden(read_yaml(Path(CONFIG)), words=WORDS)
    given = TrainConfig.overridden({}, words=WORDS)
    return Tuner(document=document, given=given, data=data, steps=3, raise_batch=False, log=lambda _: None)


def _all_settings(start: StepSettings) -> Iterator[StepSettings]:
    for precision, recomputed, parts in itertools.product(PRECISIONS, (False, True), PARTS):
        yield start._replace(precision=precision, rematerialise=recomputed, microbatches=parts)


def _in_turns(tuner: Tuner, chosen: Trial, best: Trial) -> float:
    """The ratio of the median speeds of some more trials."""
    speeds = [[tuner._try_step(one.settings).frames_per_s for one in (chosen, best)] for _ in range(REPEATS)]
    first, second = map(statistics.median, zip(*speeds, strict=True))
    return first / second


@contextmanager
def _limited(machine: Machine) -> Iterator[None]:
    """Limit this process and those that it starts."""
    cores, (soft, hard) = os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_AS)
    os.sched_setaffinity(0, sorted(cores)[: machine.cores])
    resource.setrlimit(resource.RLIMIT_AS, (int(machine.memory_gib * 2**30), hard))
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    main()
