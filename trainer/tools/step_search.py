"""Search, by trials, for the settings with which a training step takes the most frames per second.

each precision ── the whole batch at once; in as few parts as fit; twice as many parts while that is faster
               └─ the same with rematerialisation, if the whole batch does not fit without
the best of these ── twice the batch while that is faster and fits, if a larger batch is allowed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

MIN_GAIN = 1.03  # ratio of two speeds from which one counts as the faster
MIN_EPOCH_BATCHES = 100  # below which the batch is not made larger: few updates an epoch teach less
BATCH_HALVINGS = 2  # of the interval between a batch that fits and twice as much, which does not


class StepSettings(NamedTuple):
    """The settings that a search varies."""

    precision: str
    rematerialise: bool
    microbatches: int
    global_frames: int  # `input.global_frames_per_batch`

    def __str__(self) -> str:
        parts = f"{self.microbatches} part{'s' * (self.microbatches > 1)}"
        recomputed = ", rematerialised" if self.rematerialise else ""
        return f"{self.precision}{recomputed}, {self.global_frames:,} frames in {parts}"


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

    def is_faster_than(self, other: Trial | None) -> bool:
        return self.fits and (other is None or self.frames_per_s > MIN_GAIN * other.frames_per_s)


class StepSearch:
    """Tries settings, each once."""

    def __init__(self, measure: Callable[[StepSettings], Trial], *, fixed: frozenset[str] = frozenset()):
        """`fixed`: fields of StepSettings that keep their values."""
        self._measure, self._fixed = measure, fixed
        self.trials: dict[StepSettings, Trial] = {}

    def try_step(self, settings: StepSettings) -> Trial:
        if settings not in self.trials:
            self.trials[settings] = self._measure(settings)
        return self.trials[settings]

    def best(self, start: StepSettings, *, precisions: Sequence[str], raise_batch: bool) -> Trial | None:
        """Return the fastest settings; None if none fits.

        Args:
            start: the batch is not made smaller than here.
            precisions: the earlier of two that are equally fast is chosen.
            raise_batch: allow a larger batch than in `start`.
        """
        best: Trial | None = None
        for precision in precisions:
            for trial in self._best_splits(start._replace(precision=precision)):
                best = trial if trial.is_faster_than(best) else best
        return self._larger(best) if best is not None and raise_batch else best

    def _best_splits(self, start: StepSettings) -> Iterator[Trial]:
        """Yield the fastest split of the batch, then that with rematerialisation if the latter may pay off."""
        plain = self._best_split(start)
        if plain is not None:
            yield plain
        splits_for_memory = plain is None or not self.try_step(start._replace(microbatches=1)).fits
        if splits_for_memory and not start.rematerialise and "rematerialise" not in self._fixed:
            recomputed = self._best_split(start._replace(rematerialise=True))
            if recomputed is not None:
                yield recomputed

    def _best_split(self, settings: StepSettings) -> Trial | None:
        """Return the fastest number of parts, or None if none fits."""
        if "microbatches" in self._fixed:
            only = self.try_step(settings)
            return only if only.fits else None
        best = self._fewest_parts(settings)
        if best is not None and (full := self._full_parts(best)).is_faster_than(best):
            best = full
        while best is not None and 2 * best.settings.microbatches <= best.clips:
            more = self.try_step(settings._replace(microbatches=2 * best.settings.microbatches))
            if not more.is_faster_than(best):
                break
            best = more
        return best

    def _full_parts(self, trial: Trial) -> Trial:
        """Return the trial with the next number of parts that leaves no row of a part empty."""
        parts = next(
            number for number in range(trial.settings.microbatches, trial.clips + 1) if trial.clips % number == 0
        )
        return self.try_step(trial.settings._replace(microbatches=parts))

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
            if not larger.is_faster_than(best):
                break
            best = larger
        return best

    def _between(self, best: Trial, too_large: Trial) -> Trial:
        """Return the fastest of some batches between one that fits and one that does not."""
        fits, fails = best.settings.global_frames, too_large.settings.global_frames
        for _ in range(BATCH_HALVINGS):
            trial = self.try_step(best.settings._replace(global_frames=(fits + fails) // 2))
            fits, fails = (trial.settings.global_frames, fails) if trial.fits else (fits, trial.settings.global_frames)
            best = trial if trial.is_faster_than(best) else best
        return best
