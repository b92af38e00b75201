"""The page of a vocoder's training, and its metrics in the terminal."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from shared.files import write_json
from trainer.config.vocoder_train_config import VocoderLossConfig, VocoderTrainConfig
from trainer.monitoring.run_files import VOCODER_RUN_FILE
from trainer.monitoring.terminal import VOCODER_LOSS_TERMS, train_groups, validation_groups
from trainer.monitoring.vocoder_report import CopiedClip, VocoderRun, write_vocoder_report
from trainer.tools.compare_runs import compare_runs

RATE_HZ = 16000
EVIL = "<script>alert(1)</script>"
ROWS = [
    {"step": 10, "kind": "train", "loss": 80.0, "mel": 1.5, "stft": 2.5, "gradient_norm": 3.0, "steps_per_second": 2.0},
    {"step": 10, "kind": "validation", "loss": 0.3, "mel_distance_db": 2.61},
    {"step": 20, "kind": "train", "loss": 60.0, "mel": 1.2, "adversarial": 3.0, "feature": 0.2, "discriminators": 5.5},
    {"step": 20, "kind": "validation", "loss": 0.4, "mel_distance_db": 3.47},
]


def tone(*, hz: float, seconds: float) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hz * np.arange(int(seconds * RATE_HZ)) / RATE_HZ).astype(np.float32)


def write_run(run: Path, **settings: object) -> VocoderTrainConfig:
    config = VocoderTrainConfig.model_validate({"steps": 40, **settings})
    run.mkdir()
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    write_json(run / VOCODER_RUN_FILE, config)
    return config


@pytest.fixture
def page(tmp_path: Path) -> str:
    run, mel = tmp_path / "run", np.linspace(-10, 0, 50 * 80, dtype=np.float32).reshape(50, 80)
    config = write_run(run, batch_size=3)
    clips = [
        CopiedClip(EVIL, tone(hz=200, seconds=1.0), tone(hz=300, seconds=1.5), mel, mel[:40], 2.25),
        CopiedClip("a/2", tone(hz=400, seconds=0.5), tone(hz=500, seconds=0.5), mel, mel, 4.5),
    ]
    about = VocoderRun("data/x", "hifigan-22k", RATE_HZ, 61_026)
    write_vocoder_report(run, config=config, about=about, step=20, clips=clips)
    return (run / "summary.html").read_text(encoding="utf-8")


def test_the_headline_is_the_lowest_mel_distance(page: str) -> None:
    assert "Lowest mel distance 2.61 dB at step 10; no improvement in 1 validation since" in page
    assert "vocos of 61,026 parameters" in page


def test_every_metric_of_the_rows_has_its_chart(page: str) -> None:
    titles = re.findall(r"<h3>([^<]*?)(?: <small>.*?</small>)?</h3>", page)
    assert titles[:2] == ["Mel distance of validation clips", "Loss of the generator"]
    assert {"mel", "STFT", "adversarial", "feature", "Loss of the discriminators", "Gradient norm"} <= set(titles)
    assert "periodicity" not in titles  # no row has it


def test_recordings_and_sounds_can_be_heard(page: str) -> None:
    found = [
        soundfile.read(io.BytesIO(base64.b64decode(sound)))
        for sound in re.findall(r'<audio[^>]* src="data:audio/\w+;base64,([^"]+)"', page)
    ]
    heard = [np.argmax(np.abs(np.fft.rfft(sound))) * rate / len(sound) for sound, rate in found]
    np.testing.assert_allclose(heard, [200, 300, 400, 500], atol=5)


def test_names_are_text_and_nothing_is_fetched(page: str) -> None:
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]*"', page)


def test_settings_that_were_changed_are_shown_with_their_defaults(page: str) -> None:
    (row,) = re.findall(r"<tr><td><code>batch_size</code>.*?</tr>", page)
    assert re.findall(r">(\d+)<", row) == ["3", "16"]
    assert "From <code>vocoder_run.json</code>" in page


def test_every_term_of_the_loss_is_shown() -> None:
    weights = {name for name in VocoderLossConfig.model_fields if name.endswith("_weight")}
    assert weights == {f"{term}_weight" for term in ("mel", *VOCODER_LOSS_TERMS)}


def test_the_terms_of_a_step_are_told_with_the_loss_of_the_discriminators() -> None:
    terms = ["loss 60.0000", "mel 1.200", "adversarial 3.000", "feature 0.200", "discriminators 5.500"]
    assert train_groups(ROWS[2])["loss"] == terms


def test_a_validation_is_told_with_its_mel_distance() -> None:
    assert validation_groups(ROWS[1], step=10)["validation"] == ["step 10", "loss 0.3000", "mel 2.61 dB off"]


def test_two_runs_are_compared_with_their_settings(tmp_path: Path) -> None:
    write_run(tmp_path / "one", batch_size=3)
    write_run(tmp_path / "two", batch_size=3, seed=7)
    assert [(one.key, one.values) for one in compare_runs(tmp_path / "one", tmp_path / "two").differences] == [
        ("seed", ("1", "7"))
    ]
