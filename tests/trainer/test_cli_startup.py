"""Both commands answer a question about their usage, or a mistake in it, without importing what takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.described_runs import describe_run

CONFIG = "configs/train_sample.yaml"
WITHOUT_A_MODEL = {"tensorflow", "keras", "apache_beam", "scipy", "matplotlib", "rich", "numpy", "pyarrow"}
WITHOUT_TENSORFLOW = WITHOUT_A_MODEL - {"numpy", "pyarrow"}

# The console command, and behind its own output the modules that it imported.
PROGRAM = """
import sys
from trainer import cli, speak_cli
try:
    (speak_cli if sys.argv[1] in ("say", "serve", "voice") else cli).main()
finally:
    print("modules:", *{name.partition(".")[0] for name in sys.modules})
"""


def run(*words: str, code: int) -> tuple[str, set[str]]:
    """What the command wrote in a fresh process, and the packages that it imported."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    said, _, modules = ended.stdout.rpartition("modules:")
    return said + ended.stderr, set(modules.split())


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--help"], 0, "Commands:"),
        (["train", "--help"], 0, "--break-lock"),
        (["say", "--help"], 0, "--reference"),
        (["serve", "r", "--port", "-1"], 2, "Invalid value for '--port'"),
        (["train", CONFIG, "--data", "d", "--runs", "r"], 2, "No such option '--runs'"),
        (["train", CONFIG, "--data", "d"], 2, "Missing option '--run'"),
        (["train", CONFIG, "--data", "d", "--run", "r", "stepz=1"], 2, "stepz: unknown key"),
        (["inspect-input", CONFIG, "--data", "d", "input.reders=1"], 2, "input.reders: unknown key"),
        (["profile", CONFIG, "--data", "d", "--out", "o", "steps=0"], 2, "steps: "),
        (["tune", CONFIG, "--data", "d", "--out", "o", "input.reders=1"], 2, "input.reders: unknown key"),
        (["train", "configs/nowhere.yaml", "--data", "d", "--run", "r"], 2, "cannot read the config"),
        (["vocoder", "--help"], 0, "convert"),
        (["vocoder", "train", "configs/vocoder_sample.yaml", "--data", "d", "--run", "r", "stepz=1"], 2, "unknown key"),
        (["vocoder", "train", CONFIG, "--data", "d", "--run", "r"], 2, "this is a training config"),
    ],
)
def test_help_and_a_mistake_in_options_or_settings_need_no_model(words: list[str], code: int, expected: str) -> None:
    said, modules = run(*words, code=code)
    assert expected in said
    assert not modules & WITHOUT_A_MODEL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["Hello.", "--language", "inglish"], "unknown language 'inglish'"),
        ([" ", "--language", "en"], "nothing is left of it"),
        (["Hello.", "--language", "en", "--reference", "nowhere.wav"], "reference nowhere.wav: "),
    ],
)
def test_a_mistake_in_what_is_to_be_spoken_needs_no_tensorflow(words: list[str], expected: str, tmp_path: Path) -> None:
    said, modules = run("say", str(describe_run(tmp_path)), "--out", str(tmp_path / "o.wav"), *words, code=2)
    assert expected in said
    assert not modules & WITHOUT_TENSORFLOW


@pytest.mark.slow
def test_training_and_the_tools_beside_it_prepare_no_utterances() -> None:
    """Only the speech synthesizer prepares texts and recordings; training reads shards."""
    code = (
        "import sys, trainer.training.train, trainer.tools.evaluate, trainer.tools.export, trainer.tools.profile;"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in ('preprocess', 'apache_beam')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"
