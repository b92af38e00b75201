"""Vocoder files with a small generator, whose weights are random."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np

from shared.features import PRESETS
from trainer.config.vocoder_config import VocosConfig
from trainer.vocoder.vocoder_file import VocoderInfo, make_generator, write_vocoder

SMALL = VocosConfig(dim=16, intermediate_dim=24, num_layers=2, padding="same")


def write_small_vocoder(path: Path, *, features: str) -> Path:
    """Write a Vocos for mels of a preset whose frames are padded as HiFi-GAN's."""
    keras.utils.set_random_seed(3)
    generator, random = make_generator(SMALL, n_mels=PRESETS[features].n_mels), np.random.default_rng(3)
    for variable in generator.weights:
        variable.assign_add(random.normal(0.0, 0.1, variable.shape).astype(np.float32))
    facts = {"source": "a test", "source_sha256": "0" * 64, "licence": "none"}
    write_vocoder(path, generator, info=VocoderInfo.make(SMALL, features=PRESETS[features], **facts))
    return path
