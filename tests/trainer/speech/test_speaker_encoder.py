"""The speaker encoder that speech is judged by."""

from __future__ import annotations

import numpy as np
import pytest

from preprocess.speaker_encoder import RATE_HZ
from trainer.speech import speaker_encoder
from trainer.speech.speaker_encoder import resemblyzer_encoder


def test_resemblyzer_gets_sound_at_16_khz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_encoder, "SpeakerEncoder", lambda: lambda sound: np.array([len(sound), 0.0]))
    encoder = resemblyzer_encoder(rate_hz=22_050)
    assert encoder is not None
    assert encoder(np.zeros(22_050, np.float32))[0] == RATE_HZ


def test_without_the_weights_there_is_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_encoder, "has_speaker_encoder", lambda: False)
    assert resemblyzer_encoder(rate_hz=22_050) is None
