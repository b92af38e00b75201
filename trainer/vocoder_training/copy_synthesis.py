"""Validation of a vocoder: the first clips of the validation split through the generator, beside their recordings.

With predicted mels, these go through the generator, and the sounds are compared with the recordings all the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.data.dataset_checks import refuse_missing_shards
from trainer.data.log_mel import LogMel
from trainer.data.record_index import read_record_index
from trainer.data.wav_decoder import Pcm, to_mono
from trainer.data.waveforms import open_waveforms
from trainer.evaluation.dtw import DB_PER_NEPER
from trainer.monitoring.vocoder_report import CopiedClip
from trainer.vocoder.vocoder_file import Generator
from trainer.vocoder_training.predicted_mels import PredictedMels

OF_THE_SAME = "`make vocoder-mels` must have read a dataset of the same corpus"


class Clip(NamedTuple):
    """A recording."""

    utterance_id: str
    mel: np.ndarray  # of the recording, [F, M] in ln magnitude
    input_mel: np.ndarray  # that the generator gets: this one, or the predicted one
    samples: np.ndarray  # [S] float32


class CopySynthesis:
    """Recordings that are always the same, and what a generator makes of their mels."""

    def __init__(self, dataset: Dataset, *, clips: int, mels: PredictedMels | None = None):
        """
        Raises:
            UserError: the validation split has no clip, or a recording or a mel cannot be read.
        """
        self._log_mel = LogMel(dataset.info.contract.features)
        self.clips = _read_clips(dataset, count=clips, log_mel=self._log_mel, mels=mels)

    def compare(self, generator: Generator) -> list[CopiedClip]:
        """The sound that the generator makes of each clip's mel, and how far its own mel is from the clip's."""
        found = []
        for clip in self.clips:
            sound = generator.call(tf.constant(clip.input_mel[None]))[0].numpy()
            mel = self._log_mel(tf.constant(sound)).numpy()
            frames = min(len(mel), len(clip.mel))
            distance_db = DB_PER_NEPER * float(np.abs(mel[:frames] - clip.mel[:frames]).mean())
            found.append(CopiedClip(clip.utterance_id, clip.samples, sound, clip.mel, mel, distance_db))
        return found


def _read_clips(dataset: Dataset, *, count: int, log_mel: LogMel, mels: PredictedMels | None) -> list[Clip]:
    refuse_missing_shards(dataset, split="validation")
    records = read_record_index(dataset, split="validation")
    waveforms, names = open_waveforms(dataset, records=records), records.utterance_id.to_pylist()
    mel_paths = mels.paths(names) if mels else names
    found = []
    for row in [row for row, path in enumerate(mel_paths) if path][:count]:
        name = names[row]
        try:
            pcm = waveforms.read(tf.constant([row]))
        except tf.errors.OpError as error:
            if (message := waveforms.error_message(error)) is None:
                raise
            raise UserError(message) from error
        signal = to_mono(Pcm(pcm.content[0], pcm.channels[0]))
        mel = log_mel(signal).numpy()
        input_mel = mels.load(mel_paths[row], name=name, frames=len(mel)) if mels else mel
        found.append(Clip(name, mel, input_mel, signal.numpy()))
    if not found:
        root = dataset.layout.root
        if mels and names:
            raise UserError(f"{root}: no clip of the validation split has a mel in {mels.folder}; {OF_THE_SAME}")
        raise UserError(f"{root}: the validation split has no clip; build it with validation_fraction above 0")
    return found
