"""The search for the fastest step, on simulated machines, against trying everything."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import strategies

from trainer.tools.step_search import MIN_GAIN, StepSearch, StepSettings, Trial

CLIP_FRAMES, CLIPS, EPOCH_CLIPS = 800, 20, 100_000
PRECISIONS = ("float32", "bfloat16")
START = StepSettings("float32", False, 1, CLIPS * CLIP_FRAMES)


class Machine(NamedTuple):
    """A machine on which a step takes a time for each part and a time for each row of a part, an empty one too."""

    memory: float  # clips in float32 whose activations have room beside the weights
    part_s: float = 0.1
    clip_s: float = 0.01
    half: float = 1.0  # time in bfloat16, relative to float32
    recomputed: float = 1.33  # time with rematerialisation, relative to that without

    def measure(self, settings: StepSettings) -> Trial:
        clips = settings.global_frames // CLIP_FRAMES
        rows = math.ceil(clips / settings.microbatches)
        in_half = settings.precision == "bfloat16"
        needed = rows * (0.5 if in_half else 1.0) * (0.3 if settings.rematerialise else 1.0)
        clip_s = self.clip_s * (self.half if in_half else 1.0) * (self.recomputed if settings.rematerialise else 1.0)
        step_s = settings.microbatches * (self.part_s + rows * clip_s)
        return Trial(settings, needed <= self.memory, clips, EPOCH_CLIPS // clips, clips * CLIP_FRAMES / step_s)

    def best_of_all(self, clips: int) -> float:
        """The speed of the fastest settings that fit; 0 if none does."""
        every = (
            self.measure(StepSettings(precision, recomputed, parts, clips * CLIP_FRAMES))
            for precision, recomputed in itertools.product(PRECISIONS, (False, True))
            for parts in range(1, clips + 1)
        )
        return max((one.frames_per_s for one in every if one.fits), default=0.0)


def found(machine: Machine, *, start: StepSettings = START, raise_batch: bool = False) -> Trial | None:
    return StepSearch(machine.measure).best(start, precisions=PRECISIONS, raise_batch=raise_batch)


@hypothesis.given(
    machine=strategies.builds(
        Machine,
        memory=strategies.floats(0.05, 60),
        part_s=strategies.floats(0.01, 1),
        clip_s=strategies.just(0.01),
        half=strategies.floats(0.3, 3),
        recomputed=strategies.floats(1.1, 1.6),
    ),
    clips=strategies.integers(1, 60),
)
@hypothesis.example(Machine(memory=3.5, part_s=0.01, half=1.05), 20)
@hypothesis.example(Machine(memory=5.5, part_s=0.01, half=3), 17)
@hypothesis.example(Machine(memory=1.125, part_s=0.01, half=1.09375, recomputed=1.125), 52)
@hypothesis.example(Machine(memory=3.375, part_s=0.01, half=1.0769, recomputed=1.2837), 44)
def test_the_fastest_split_is_found_that_fits(machine: Machine, clips: int) -> None:
    """A part takes as long as a clip or longer, beside its clips: kernels have to be started, gradients added."""
    best, most = found(machine, start=START._replace(global_frames=clips * CLIP_FRAMES)), machine.best_of_all(clips)
    if not most:
        assert best is None
        return
    assert best is not None
    assert best.fits
    assert best.frames_per_s >= most / MIN_GAIN * (1 - 1e-9)  # what a less exact precision must gain
    assert best.settings.global_frames == clips * CLIP_FRAMES


def test_a_small_batch_that_leaves_the_device_idle_is_made_larger_until_that_no_longer_pays() -> None:
    machine = Machine(memory=1_000, part_s=0.1, clip_s=0.011)
    best = found(machine, raise_batch=True)
    assert best.settings == START._replace(global_frames=8 * START.global_frames)
    twice = machine.measure(best.settings._replace(global_frames=16 * START.global_frames))
    assert twice.frames_per_s < 1.04 * best.frames_per_s


def test_a_batch_is_made_larger_up_to_the_memory() -> None:
    machine = Machine(memory=70, part_s=10, half=5)
    best = found(machine, raise_batch=True)
    assert 60 * CLIP_FRAMES <= best.settings.global_frames <= 70 * CLIP_FRAMES
    assert best.fits


def test_a_batch_is_not_made_so_large_that_an_epoch_has_few() -> None:
    best = found(Machine(memory=1e9, part_s=1e6), raise_batch=True)
    assert best.epoch_batches >= 100
    assert best.settings.global_frames > 16 * START.global_frames


def test_rematerialisation_is_not_tried_where_the_batch_fits_without() -> None:
    search = StepSearch(Machine(memory=30).measure)
    search.best(START, precisions=PRECISIONS, raise_batch=False)
    assert not any(settings.rematerialise for settings in search.trials)


def test_settings_are_tried_once() -> None:
    tried = []

    def measure(settings: StepSettings) -> Trial:
        tried.append(settings)
        return Machine(memory=3, part_s=0.2).measure(settings)

    StepSearch(measure).best(START, precisions=PRECISIONS, raise_batch=True)
    assert len(tried) == len(set(tried)) > 5


@pytest.mark.parametrize(
    ("fixed", "kept"), [("microbatches", 10), ("rematerialise", False), ("global_frames", START.global_frames)]
)
def test_what_is_fixed_keeps_its_value(fixed: str, kept: object) -> None:
    search = StepSearch(Machine(memory=3, part_s=5).measure, fixed=frozenset({fixed}))
    search.best(START._replace(**{fixed: kept}), precisions=PRECISIONS, raise_batch=True)
    assert {getattr(settings, fixed) for settings in search.trials} == {kept}
    assert len(search.trials) > 1
