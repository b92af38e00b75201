"""Copy-synthesis: vocoders make sounds of the mels of recordings, and the sounds are compared with the recordings.

Griffin-Lim is measured beside the vocoders, since it is what speaks without one.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from shared.features import FeatureSpec
from trainer.evaluation.text_errors import plain_words, text_errors
from trainer.evaluation.vocoder_measures import VocoderMeasures, compare_with_recording
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.recording import Recording, mel_of
from trainer.vocoder.vocoder import Vocoder

GRIFFIN_LIM = "griffin-lim"
REAL_TIME_FACTOR, MISHEARD = "real_time_factor", "misheard"
# the rows of the table: measure, name, digits, unit
ROWS: tuple[tuple[str, str, int, str], ...] = (
    ("pesq", "PESQ, wide band", 2, ""),
    ("stoi", "STOI", 3, ""),
    ("mel_distance_db", "mel distance", 2, "dB"),
    ("spectral_convergence", "spectral convergence", 3, ""),
    ("log_magnitude_distance", "log-magnitude distance", 3, ""),
    ("f0_rms_cents", "pitch: RMS difference", 1, "cents"),
    ("voicing_error", "voicing errors", 3, ""),
    ("periodicity_rms", "periodicity: RMS difference", 3, ""),
    (MISHEARD, "words heard otherwise", 1, "%"),
    (REAL_TIME_FACTOR, "real-time factor", 3, ""),
)

Vocode = Callable[[np.ndarray], np.ndarray]
Transcribe = Callable[[np.ndarray], str]  # the words of a signal [S]


class Measured(NamedTuple):
    """A recording through a vocoder."""

    vocoder: str
    clip: str
    measures: VocoderMeasures
    misheard: float  # words of the recording that are heard otherwise, in percent; nan: not measured
    real_time_factor: float  # seconds taken over seconds of sound

    def row(self) -> dict[str, Any]:
        """The figures of a line of JSON; None: not measured."""
        figures = {**self.measures._asdict(), MISHEARD: self.misheard, REAL_TIME_FACTOR: self.real_time_factor}
        numbers = {name: None if math.isnan(value) else value for name, value in figures.items()}
        return {"vocoder": self.vocoder, "clip": self.clip, **numbers}


def open_vocoders(paths: Sequence[Path], *, spec: FeatureSpec | None) -> tuple[dict[str, Vocode], FeatureSpec]:
    """Griffin-Lim, and the vocoders of files by the names of these; and the kind of the mels for all of them.

    Args:
        spec: the kind of the mels; None: the kind of the first file. Then `paths` has at least one file.

    Raises:
        UserError: a file cannot be read, is no vocoder, or is one for other mels.
    """
    vocoders: dict[str, Vocode] = {}
    for path in paths:
        vocoders[str(path)] = vocoder = Vocoder.load(path, spec=spec)
        spec = vocoder.spec
    assert spec is not None
    return {GRIFFIN_LIM: functools.partial(griffin_lim, spec=spec)} | vocoders, spec


def measure_vocoders(
    recordings: Iterable[Recording],
    *,
    vocoders: Mapping[str, Vocode],
    spec: FeatureSpec,
    transcribe: Transcribe | None = None,
) -> Iterator[Measured]:
    """Send recordings through vocoders, and compare each sound with its recording; yields clip by clip.

    Args:
        recordings: the recordings, with their mels.
        vocoders: the vocoders by name.
        spec: of the mels.
        transcribe: writes down words, which are compared too; None: they are not.
    """
    for vocode in vocoders.values():
        vocode(np.full([1, spec.n_mels], spec.log_silence, np.float32))  # the first call traces
    for recording in recordings:
        said = transcribe(recording.samples) if transcribe else ""
        for name, vocode in vocoders.items():
            started_s = time.perf_counter()
            samples = vocode(recording.mel)
            taken_s = time.perf_counter() - started_s
            measures = _compare(samples, recording, spec=spec)
            misheard = _misheard(transcribe(samples), said=said) if transcribe else math.nan
            yield Measured(name, str(recording.path), measures, misheard, taken_s * spec.sample_rate_hz / len(samples))


def _misheard(heard: str, *, said: str) -> float:
    """Word errors against what was heard in the recording, in percent; nan if that was nothing."""
    if not plain_words(said):
        return math.nan
    errors = text_errors(heard, said=said)
    return 100.0 * errors.word_errors / errors.words


def _compare(samples: np.ndarray, recording: Recording, *, spec: FeatureSpec) -> VocoderMeasures:
    length = min(len(samples), len(recording.samples))
    pair = samples[:length].astype(np.float32), recording.samples[:length]
    return compare_with_recording(*pair, mels=(mel_of(pair[0], spec=spec), mel_of(pair[1], spec=spec)), spec=spec)


class MeanFigure(NamedTuple):
    """The means of one measure, a mean for each vocoder; all vocoders have the same clips."""

    by_vocoder: dict[str, float]  # empty: there is no such clip
    clips: int  # that were measured for every vocoder


def mean_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, MeanFigure]:
    """The means over clips, by measure.

    A clip whose sound by one of the vocoders cannot be measured, such as PESQ of silence, is left out for all of them:
    so all are measured by the same clips.
    """
    names = list(dict.fromkeys(row["vocoder"] for row in rows))
    found: dict[str, MeanFigure] = {}
    for measure, *_ in ROWS:
        values = {(row["vocoder"], row["clip"]): row[measure] for row in rows if row[measure] is not None}
        clips = [
            clip for clip in dict.fromkeys(row["clip"] for row in rows) if all((one, clip) in values for one in names)
        ]
        means = {name: float(np.mean([values[name, clip] for clip in clips])) for name in names if clips}
        found[measure] = MeanFigure(means, len(clips))
    return found


def short_names(vocoders: Sequence[str]) -> list[str]:
    """The file names without suffix, or the whole paths where two have the same."""
    stems = [Path(name).stem for name in vocoders]
    return stems if len(set(stems)) == len(stems) else list(vocoders)


def figures_table(figures: Mapping[str, MeanFigure], *, title: str) -> Table:
    """The figures as a table with a column for each vocoder."""
    vocoders = list(figures[REAL_TIME_FACTOR].by_vocoder)  # of all sounds
    table = Table(title=title)
    table.add_column("mean over clips")
    for name in short_names(vocoders):
        table.add_column(name, justify="right")
    table.add_column("clips", justify="right")
    for measure, words, digits, unit in ROWS:
        figure = figures[measure]
        cells = [f"{figure.by_vocoder[one]:.{digits}f} {unit}".strip() if figure.clips else "–" for one in vocoders]
        table.add_row(words, *cells, f"{figure.clips:,}")
    return table
