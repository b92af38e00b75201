from __future__ import annotations

import pydantic
import pytest

from trainer.config.loss_config import LossConfig


def test_the_voice_loss_of_older_versions_is_refused_unless_a_run_noted_that_it_was_off() -> None:
    assert LossConfig.model_validate({"mel": 2.0, "voice": 0.0}) == LossConfig(mel=2.0)
    with pytest.raises(pydantic.ValidationError, match="voice"):
        LossConfig.model_validate({"voice": 0.5})
