"""A folder in which the documents' commands run, with the sample dataset and a short training that the pages share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block
from tests.trainer.processes import CACHE, FAST_COMPILATION, xla_flags

FROM_THE_REPOSITORY = (
    *("Makefile", "configs", "docker", "docs", "pipelines", "preprocess", "pyproject.toml"),
    *("mkdocs.yml", "requirements.lock", "shared", "tests", "trainer", ".venv"),
)


def run_script(code: str, *, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a shell script as a user in the repository's root does, with the environment that is already there."""
    environment = os.environ | CACHE | {"PYTHONPATH": str(ROOT), "MAKEFLAGS": "READY=", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["XLA_FLAGS"] = xla_flags(FAST_COMPILATION)
    script = f"set -euo pipefail\n{code}"
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run_block(block: Block, *, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a block of a page; a Python block runs in the project's environment."""
    if block.language == "sh":
        return run_script(block.to_run, folder=folder)
    (folder / "block.py").write_text(block.to_run, encoding="utf-8")
    return run_script(".venv/bin/python block.py", folder=folder)


def linked(folder: Path) -> Path:
    """The folder with links to all that a command may read of the repository."""
    for name in FROM_THE_REPOSITORY:
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `data/sample` and `runs/sample`, as after `make quickstart`, but of a shorter training."""
    folder = linked(tmp_path_factory.mktemp("quickstart"))
    ended = run_script("make preprocess && make train CONFIG=tests/docs/small.yaml", folder=folder)
    assert ended.returncode == 0, ended.stdout
    return folder


@pytest.fixture(scope="session")
def make_workplace(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes the folder of one page: the repository by links, and copies of the shared dataset and run."""

    def make() -> Path:
        folder = linked(tmp_path_factory.mktemp("page"))
        for name in ("data", "runs"):
            shutil.copytree(finished / name, folder / name)
        return folder

    return make
