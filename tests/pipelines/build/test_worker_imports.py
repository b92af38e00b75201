"""The modules that a build imports, in its driver and in its workers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipelines.build.filter_utterances import FilterUtterances
from pipelines.build.prepare_shards import PrepareShard
from pipelines.build.write_shards import WriteShard

STEPS = (PrepareShard, FilterUtterances, WriteShard)
DRIVER = "pipelines.build.build_dataset, pipelines.job_summaries, pipelines.report"


def modules_after(names: str) -> set[str]:
    """All modules that are loaded after an import in a fresh process."""
    words = [sys.executable, "-c", f"import sys, {names}; print(*sys.modules)"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.slow
def test_a_worker_imports_neither_the_drivers_terminal_nor_validation_nor_scipys_signals() -> None:
    """They took 0.7 s of CPU of each worker before its first utterance."""
    found = modules_after(", ".join(sorted({step.__module__ for step in STEPS})))
    assert "apache_beam" in found
    assert not found & {
        "rich",
        "numba",
        "scipy.signal",
        "pyloudnorm",
        "pipelines.execution.progress",
        "pipelines.validation",
    }


@pytest.mark.slow
def test_the_driver_of_a_build_does_not_import_the_compiler_of_validation() -> None:
    found = modules_after(f"{DRIVER}, pipelines.build.dry_run, pipelines.build.job")
    assert "apache_beam" in found
    assert not found & {"numba", "llvmlite", "tensorflow", "pipelines.validation.validate"}


@pytest.mark.slow
def test_a_build_with_nothing_to_do_does_not_import_beam() -> None:
    assert "apache_beam" not in modules_after(DRIVER)
