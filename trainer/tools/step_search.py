"""Search, by trials, for the settings with which a training step takes the most frames per second.

each precision ── the batch in as few parts as fit into memory, then in more parts while that is faster, then in the
               │  number of parts between for which these trials promise the least time
               └─ the same with rematerialisation, if the whole batch does not fit without
the best of these ── twice the batch while that is faster and fits, if a larger batch is allowed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from shared.messages import counted

MIN_GAIN = 1.03  # ratio of speeds that another precision or a larger batch must reach
MIN_EPOCH_BATCHES = 100  # below which the batch is not made larger: few updates an epoch teach less
BATCH_HALVINGS = 2  # of the interval between a batch that fits and twice as much, which does not


class StepSettings(NamedTuple):
    """The settings that a search varies."""

    precision: str
    rematerialise: bool
    microbatches: int
    global_frames: int  # `input.global_frames_per_batch`

    def __str__(self) -> str:
        recomputed = ", rematerialised" if self.rematerialise else ""
        frames = f"{self.global_frames:,} frames in {counted(self.microbatches, 'part')}"
        return f"{self.precision}{recomputed}, {frames}"


class Trial(NamedTuple):
    """A step that was tried with full batches of the longest clips."""

    settings: StepSettings
    fits: bool
    clips: int = 1  # of a device's batch, and so the most parts
    epoch_batches: int = 0
    frames_per_s: float = 0.0  # padded frames of all devices
    compile_s: float = 0.0
    memory_mib: float | None = None  # most in use of the first GPU; None where there is none

    def __str__(self) -> str:
        return f"{self.frames_per_s:,.0f} frames/s" if self.fits else "does not fit into memory"


class StepSearch:
    """Tries settings, each once."""

    def __init__(self, measure: Callable[[StepSettings], Trial], *, fixed: frozenset[str] = frozenset()):
        """`fixed`: fields of StepSettings that keep the values with which a search starts."""
        self._measure, self._fixed = measure, fixed
        self.trials: dict[StepSettings, Trial] = {}

    def try_step(self, settings: StepSettings) -> Trial:
        """Measure a step, unless it was measured before."""
        if settings not in self.trials:
            self.trials[settings] = self._measure(settings)
        return self.trials[settings]

    def best(self, start: StepSettings, *, precisions: Sequence[str], raise_batch: bool) -> Trial | None:
        """Return the fastest settings; None if none fits.

        Args:
            start: the batch is not made smaller than here.
            precisions: a later one is chosen if it is clearly faster than the earlier ones.
            raise_batch: allow a larger batch than in `start`.
        """
        best: Trial | None = None
        for precision in precisions:
            fastest = max(self._best_splits(start._replace(precision=precision)), key=_speed, default=None)
            if fastest is not None and (best is None or _speed(fastest) > MIN_GAIN * _speed(best)):
                best = fastest
        is_kept = best is None or not raise_batch or "global_frames" in self._fixed
        return best if best is None or is_kept else self._larger(best)

    def _best_splits(self, start: StepSettings) -> Iterator[Trial]:
        """Yield the fastest split of the batch, then that with rematerialisation if memory calls for it."""
        plain = self._best_split(start)
        if plain is not None:
            yield plain
            if "microbatches" in self._fixed or self.try_step(start._replace(microbatches=1)).fits:
                return
        if not start.rematerialise and "rematerialise" not in self._fixed:
            recomputed = self._best_split(start._replace(rematerialise=True))
            if recomputed is not None:
                yield recomputed

    def _best_split(self, settings: StepSettings) -> Trial | None:
        """Return the fastest number of parts, or None if none fits."""
        if "microbatches" in self._fixed:
            only = self.try_step(settings)
            return only if only.fits else None
        best = self._fewest_parts(settings)
        if best is None:
            return None
        tried = [best]
        while (parts := _next_parts(tried[-1])) <= best.clips:
            tried.append(self.try_step(settings._replace(microbatches=parts)))
            if _speed(tried[-1]) <= _speed(tried[-2]):
                tried.append(self.try_step(settings._replace(microbatches=_parts_between(tried[0], tried[-1]))))
                break
        return max(tried, key=_speed)

    def _fewest_parts(self, settings: StepSettings) -> Trial | None:
        """Return the trial with the fewest parts that fit, or None if single clips do not fit."""
        whole = self.try_step(settings._replace(microbatches=1))
        if whole.fits:
            return whole
        too_few, fitting = 1, None
        while fitting is None and too_few < whole.clips:
            trial = self.try_step(settings._replace(microbatches=min(2 * too_few, whole.clips)))
            fitting, too_few = (trial, too_few) if trial.fits else (None, trial.settings.microbatches)
        while fitting is not None and fitting.settings.microbatches - too_few > 1:
            trial = self.try_step(settings._replace(microbatches=(too_few + fitting.settings.microbatches) // 2))
            fitting, too_few = (trial, too_few) if trial.fits else (fitting, trial.settings.microbatches)
        return fitting

    def _larger(self, best: Trial) -> Trial:
        """Return the fastest trial with a larger batch, or `best`."""
        while best.epoch_batches >= 2 * MIN_EPOCH_BATCHES:
            larger = self.try_step(best.settings._replace(global_frames=2 * best.settings.global_frames))
            if not larger.fits:
                return self._between(best, larger)
            if _speed(larger) <= MIN_GAIN * _speed(best):
                break
            best = larger
        return best

    def _between(self, best: Trial, too_large: Trial) -> Trial:
        """Return the fastest of some batches between one that fits and one that does not."""
        fits, fails = best.settings.global_frames, too_large.settings.global_frames
        for _ in range(BATCH_HALVINGS):
            trial = self.try_step(best.settings._replace(global_frames=(fits + fails) // 2))
            fits, fails = (trial.settings.global_frames, fails) if trial.fits else (fits, trial.settings.global_frames)
            best = trial if _speed(trial) > MIN_GAIN * _speed(best) else best
        return best


def _speed(trial: Trial) -> float:
    return trial.frames_per_s if trial.fits else 0.0


def _rows(trial: Trial, *, parts: int) -> int:
    """Return the rows of a batch in so many parts of equal size, the empty ones too."""
    return -(-trial.clips // parts) * parts


def _next_parts(trial: Trial) -> int:
    """Return the number of parts, up to twice as many, with the fewest empty rows; twice as many if all have more."""
    parts = trial.settings.microbatches
    numbers = range(parts + 1, min(2 * parts, trial.clips) + 1)
    best = min(numbers, key=lambda number: _rows(trial, parts=number), default=2 * parts)
    return best if _rows(trial, parts=best) < _rows(trial, parts=parts) else 2 * parts


def _parts_between(few: Trial, many: Trial) -> int:
    """Return the number of parts, from one trial's to another's, for which the least time is expected.

    A step is taken to need a time for each part and a time for each row, which the two trials tell.
    """
    parts = [trial.settings.microbatches for trial in (few, many)]
    if not many.fits:
        return parts[0]
    rows = [_rows(few, parts=number) for number in parts]
    times = [1 / trial.frames_per_s for trial in (few, many)]  # of batches with equally many frames
    determinant = parts[0] * rows[1] - parts[1] * rows[0]
    part_time = (times[0] * rows[1] - times[1] * rows[0]) / determinant
    row_time = (times[1] * parts[0] - times[0] * parts[1]) / determinant
    return min(
        range(parts[0], parts[1] + 1),
        key=lambda number: number * part_time + _rows(few, parts=number) * row_time,
    )
