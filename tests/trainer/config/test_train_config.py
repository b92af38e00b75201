"""The settings of the trainer: what loading them imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_settings_import_of_this_project_only_themselves_and_the_base_class(loaded: set[str]) -> None:
    ours = {name for name in loaded if name.partition(".")[0] in OURS}
    assert ours - set(MODULES) == {"shared", "shared.config", "shared.errors", "shared.storage_path", "trainer"}
