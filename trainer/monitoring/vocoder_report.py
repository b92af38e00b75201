"""`RUN/summary.html` of a vocoder: what it has learnt, and its sounds beside the recordings, on one page."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trainer.config.vocoder_train_config import VocoderTrainConfig
from trainer.monitoring.chart_specs import OPTIMIZATION, VOCODER_LEARNING, speed_charts
from trainer.monitoring.data_uris import audio_uri, image_uri
from trainer.monitoring.html_report import changed_settings, draw_charts, headline, load_template, write_page
from trainer.monitoring.plots import mel_comparison_image
from trainer.monitoring.run_files import VOCODER_RUN_FILE, read_run_files
from trainer.monitoring.samples import as_int16


class CopiedClip(NamedTuple):
    """A clip of the validation split, and what the generator makes of its mel."""

    utterance_id: str
    recording: np.ndarray  # [S] float32
    sound: np.ndarray  # [S] float32
    mel: np.ndarray  # of the recording, [F, M] in ln magnitude
    sound_mel: np.ndarray  # of the sound
    mel_distance_db: float


class VocoderRun(NamedTuple):
    """What the page states of a run besides its metrics."""

    data: str  # path of the dataset
    features: str  # name of the feature spec
    rate_hz: int
    parameters: int  # of the generator


def write_vocoder_report(
    run: Path, *, config: VocoderTrainConfig, about: VocoderRun, step: int, clips: Sequence[CopiedClip]
) -> None:
    """Write `RUN/summary.html` after the validation of a step.

    Raises:
        UserError: the disk is full or fails.
    """
    files = read_run_files(run)
    charts = functools.partial(draw_charts, rows=files.rows)
    best = files.best_validation
    page = load_template("vocoder_training.html.j2").render(
        **about._asdict(),
        name=files.name,
        root=str(run.absolute()),
        generator=config.generator.kind,
        headline=headline(files, name="mel distance", key="mel_distance_db", unit=" dB"),
        step=step,
        steps=config.steps,
        last={kind: files.last(kind) for kind in ("train", "validation")},
        best=best,
        learning=charts(VOCODER_LEARNING, best_step=best.get("step")),
        optimization=charts(OPTIMIZATION),
        speed=charts(speed_charts(files.rows)),
        clips=[_as_uris(clip, rate_hz=about.rate_hz) for clip in clips],
        settings=files.settings,
        settings_file=VOCODER_RUN_FILE,
        changed=changed_settings(files.settings, defaults=VocoderTrainConfig()),
    )
    write_page(page, run=run)


def _as_uris(clip: CopiedClip, *, rate_hz: int) -> dict[str, Any]:
    return {
        "id": clip.utterance_id,
        "mel_distance_db": clip.mel_distance_db,
        "mels": image_uri(mel_comparison_image(clip.mel, clip.sound_mel)),
        "recording": audio_uri(as_int16(clip.recording), rate_hz=rate_hz),
        "sound": audio_uri(as_int16(clip.sound), rate_hz=rate_hz),
    }
