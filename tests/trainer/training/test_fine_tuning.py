"""Training that begins with the weights of another run: another language, a frozen part, parts that learn slowly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.vocabulary import Vocabulary
from tests.trainer.conftest import built
from tests.trainer.models import NARROW
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.config.model_sizes import SIZES

GERMAN = "sources={german: {reader: common_voice, root: tests/corpora/german/de, language: deu_Latn}}"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("op_by_op"),
    pytest.mark.filterwarnings("ignore:Even though the"),
]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """The German part of the sample corpus."""
    return built(tmp_path / "german", overrides=[GERMAN, "max_rejected_fraction=1"])


def words(data: Path, *overrides: str, run: Path) -> list[str]:
    settings = ("input.global_frames_per_batch=400", "input.validation_clips=1", "synthesis_eval.clips=0", "steps=1")
    return ["train", "configs/train_sample.yaml", *settings, *overrides, "--data", str(data), "--run", str(run)]


def weights(run: Path, *, checkpoint: int) -> dict[str, np.ndarray]:
    """The weights of the first (0) or the last (-1) checkpoint."""
    saved = safetensors.numpy.load_file(list_checkpoints(run)[checkpoint].path)
    return {name.removeprefix("model/"): value for name, value in saved.items() if name.startswith("model/")}


def test_another_language_is_learned_from_the_weights_of_a_run(
    command: Callable, data: Path, german: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert command(*words(german, "optimizer.ema_decay=0", "input.reference=other", run=first)).code == 0
    slow = ("rate_factors.text_encoder=0", "rate_factors.reference_encoder=0.01", "optimizer.warmup_steps=0")
    outcome = command(*words(data, f"init_from={first}", "optimizer.ema_decay=0", *slow, run=second))
    assert outcome.code == 0, outcome.err
    assert f"starting from the weights of {first}, the " in outcome.err
    assert " tokens are new to it" in outcome.err
    assert set(Vocabulary.load(second / "vocab.json").languages) == {"deu_Latn", "eng_Latn", "pes_Arab"}
    trained, begun, ended = weights(first, checkpoint=-1), weights(second, checkpoint=0), weights(second, checkpoint=-1)
    others = [name for name in trained if not name.endswith("text_encoder/embedding/embeddings")]
    for name in others:  # among them the mel statistics, which are those of German
        np.testing.assert_array_equal(begun[name], trained[name], err_msg=name)
    moved = {name: np.abs(ended[name] - begun[name]).max() for name in ended}
    of_part = {
        part: max(value for name, value in moved.items() if f"{part}/" in name)
        for part in ("text_encoder", "audio_encoder")
    }
    rest = max(value for name, value in moved.items() if "encoder/" not in name)
    assert of_part["text_encoder"] == 0.0
    assert 0.0 < of_part["audio_encoder"] < 0.05 * rest
    saved = safetensors.numpy.load_file(list_checkpoints(second)[-1].path)
    assert not [name for name in saved if name.startswith("optimizer/") and "text_encoder" in name]
    again = command(*words(data, f"init_from={first}", "optimizer.ema_decay=0", *slow, "steps=2", run=second))
    assert again.code == 0, again.err
    assert "resuming after step 1" in again.err


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["init_from=nowhere"],
            "nowhere: no run here; expected what `make train RUN=nowhere` or `make export OUT=nowhere` writes",
        ),
        (
            ["rate_factors={text_encoder: 0, reference_encoder: 0, decoder: 0}"],
            "every part is 0, so that nothing would learn",
        ),
    ],
)
def test_a_mistake_is_one_line(
    command: Callable, data: Path, tmp_path: Path, overrides: list[str], message: str
) -> None:
    outcome = command(*words(data, *overrides, run=tmp_path / "run"))
    assert outcome.code == 2
    assert message in outcome.err.splitlines()[-1]
    assert not (tmp_path / "run" / "run.json").exists()
