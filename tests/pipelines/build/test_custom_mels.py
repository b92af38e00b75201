"""A dataset with mel settings of the user's own: built, described, validated, and built again under a preset."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipelines.config import config_document
from pipelines.job_summaries import unreleased_mels
from pipelines.validation.validate import validate_dataset
from preprocess.audio import Signal, resample
from preprocess.mel import log_mel
from shared.dataset import Dataset
from tests.pipelines import builds

OWN = "mel={sample_rate_hz: 16000, n_fft: 800, hop_samples: 200, fmax_hz: 7600}"


@pytest.mark.slow
def test_a_dataset_with_own_mel_settings_is_built_validated_and_traced(tmp_path: Path, command: Callable) -> None:
    root, data = builds.make_corpus(tmp_path / "corpus", clips=4), tmp_path / "data"
    words = builds.build_words(root, "validation_fraction=0", data=data)
    built = command(*words, OWN)
    assert built.code == 0, built.err
    assert "mel: no preset has these settings; speech will need a vocoder that was trained on such mels" in built.err
    features = json.loads((data / "dataset.json").read_bytes())["contract"]["features"]
    assert (features["name"], features["sample_rate_hz"], features["pad_samples"]) == ("custom", 16000, 300)

    dataset = Dataset.open(data)
    record = dataset.record("ljspeech/C00000")
    samples, rate_hz = soundfile.read(root / "wavs/C00000.wav", dtype="float32")
    resampled = resample(Signal(samples, rate_hz), rate_hz=16000).samples
    expected = log_mel(resampled, spec=dataset.info.contract.features)
    np.testing.assert_array_equal(record.mel, expected.astype(np.float16))

    assert validate_dataset(data, workers=1).findings == []
    assert "the same bytes" in command("trace", "ljspeech/C00000", "--data", data, "--reproduce").out
    assert "nothing to do" in command(*words, OWN).out
    under_a_preset = command(*words)
    assert under_a_preset.code == 0
    assert "no preset" not in under_a_preset.err
    assert Dataset.open(data).info.contract.features.name == "hifigan-22k"


def test_settings_of_a_preset_say_nothing_and_are_not_in_the_dataset(tmp_path: Path) -> None:
    own, of_another = builds.config_of([OWN]), builds.config_of(["mel={hop_samples: 256}"])
    assert "no preset has these settings" in str(unreleased_mels(own))
    assert unreleased_mels(of_another) is None
    assert config_document(of_another) == config_document(builds.config_of([]))
