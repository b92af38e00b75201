"""What a worker process of a build has to import before its first utterance."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipelines.build.filter_utterances import FilterUtterances
from pipelines.build.prepare_shards import PrepareShard
from pipelines.build.shard_plan import read_keyed
from pipelines.build.write_shards import WriteShard


@pytest.mark.slow
def test_a_worker_imports_neither_the_drivers_terminal_nor_validation_nor_scipys_signals() -> None:
    """They took 0.7 s of CPU of each worker, while nothing else could be done."""
    needed = ", ".join(sorted({step.__module__ for step in (read_keyed, PrepareShard, FilterUtterances, WriteShard)}))
    words = [sys.executable, "-c", f"import sys, {needed}; print(*sys.modules)"]
    found = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    assert "apache_beam" in found
    assert not found & {
        "rich",
        "numba",
        "scipy.signal",
        "pyloudnorm",
        "pipelines.execution.progress",
        "pipelines.validation",
    }
