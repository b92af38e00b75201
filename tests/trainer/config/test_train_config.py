"""The settings of the trainer: which modules they import, and what happens to a setting under its old name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from shared.config import Config, load_config
from shared.errors import UserError
from trainer.config.train_config import TrainConfig

ROOT = Path(__file__).parents[3]
OURS = ("shared", "preprocess", "pipelines", "trainer")

MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in (ROOT / "trainer" / "config").rglob("*.py")
)


def modules_after(code: str) -> set[str]:
    """The names of all modules that a fresh interpreter has loaded after `code`."""
    words = [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"]
    return set(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of one interpreter that imported every module of the settings."""
    return modules_after("import " + ", ".join(MODULES)) - modules_after("import site")


def test_settings_import_pydantic_and_yaml_and_no_library_that_computes(loaded: set[str]) -> None:
    packages = {name.partition(".")[0] for name in loaded}
    assert packages >= {"pydantic", "yaml"}
    assert packages & {"tensorflow", "keras", "numpy", "scipy", "pyarrow", "apache_beam", "numba", "jinja2"} == set()


def test_settings_import_of_this_project_only_themselves_and_shared_modules(loaded: set[str]) -> None:
    others = {name for name in loaded if name.partition(".")[0] in OURS} - {*MODULES, "trainer"}
    assert {name.partition(".")[0] for name in others} == {"shared"}


def sections(kind: type[Config]) -> Iterator[type[Config]]:
    """A section, and every section below it."""
    yield kind
    for field in kind.model_fields.values():
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, Config):
                yield from sections(inner)


@pytest.mark.parametrize("section", list(sections(TrainConfig)), ids=lambda section: section.__name__)
def test_a_renamed_setting_has_its_new_name_and_not_the_old_one(section: type[Config]) -> None:
    renamed = getattr(section, "RENAMED", {})
    assert set(renamed.values()) <= set(section.model_fields)
    assert not set(renamed) & set(section.model_fields)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["synthesis_eval.best_by=mel_distance_db", "synthesis_eval.clips=0"], "a measure of synthesized clips, and"),
        (["synthesis_eval.best_by=word_errors", "synthesis_eval.listener=none"], "needs a listener"),
        (["synthesis_eval.best_by=word_errors"], "best_by=word_errors needs a listener, such as listener=pocketsphinx"),
    ],
)
def test_a_score_that_nothing_measures_is_refused(settings: list[str], why: str, tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("steps: 10\n")
    with pytest.raises(UserError, match=why):
        load_config(str(path), of=TrainConfig, overrides=settings)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("level=enhanced", "preset"),
        ("free_running.clips=0", "synthesis_eval"),
        ("plateau.least_gain=0.1", "min_delta"),
        ("plateau.settling=1", "cooldown"),
        ("plateau.most_actions=1", "max_reductions"),
        ("input.readers=2", "num_parallel_reads"),
        ("input.frames_per_batch=800", "global_frames_per_batch"),
        ("input.max_clips=8", "global_max_clips"),
        ("input.corrupt_records=1", "max_corrupt_records"),
        ("input.mixing.languages=2", "sampling"),
        ("input.sampling.languages=2", "language_temperature"),
        ("input.costs.frames_s=0.1", "step_s_per_1000_frames"),
        ("optimizer.accumulation=2", "microbatches"),
        ("recovery.skipped_in_row=5", "max_nonfinite_steps"),
        ("loss.guided_attention.falling_steps=5", "decay_steps"),
    ],
)
def test_a_setting_under_its_old_name_is_refused_with_the_new_one(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("steps: 10\n")
    with pytest.raises(UserError, match=rf"renamed: use \S*\b{new}$"):
        load_config(str(path), of=TrainConfig, overrides=[old])
