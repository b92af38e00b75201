"""Processes that tests start, none of which outlives them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BUILD_S = 1800

_BEGUN: list[subprocess.Popen[str]] = []
_ENVIRONMENT = dict(os.environ)  # before any test changes it
_CACHE = tempfile.TemporaryDirectory(prefix="myxtts-tests-")
CACHE = {"XDG_CACHE_HOME": _CACHE.name}  # one process of the tests loads the programs of another

# The program computes the same, more slowly. A training step of one narrow layer is compiled in 8 s of CPU time instead
# of 28, with the optimization level alone in 16. At the usual level, the older emitters take more time, not less.
FAST_COMPILATION = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_llvm_disable_expensive_passes=true"
)


def xla_flags(*flags: str) -> str:
    """XLA_FLAGS with additional flags; those with which the tests were started, such as an instruction set, stay."""
    present = _ENVIRONMENT.get("XLA_FLAGS", "").split()
    return " ".join([*present, *(flag for flag in " ".join(flags).split() if flag not in present)])


def skip_graph_optimizer() -> None:
    """Leave out TensorFlow's graph optimizer in this process: functions compute the same, and start seconds sooner."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


class Said(NamedTuple):
    """Exit code and output of a process."""

    code: int
    out: str
    err: str


def begin(
    words: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """Start a process with low priority and additional environment variables; XLA compiles in little time there."""
    process = subprocess.Popen(
        ["nice", "-n", "5", *words],
        cwd=ROOT,
        env={**_ENVIRONMENT, **CACHE, "XLA_FLAGS": xla_flags(FAST_COMPILATION), **(environment or {})},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _BEGUN.append(process)
    return process


def end(process: subprocess.Popen[str], *, within_s: float) -> Said:
    """Wait for the process to end, and return its output."""
    out, err = process.communicate(timeout=within_s)
    return Said(process.returncode, out, err)


def program(name: str) -> Path:
    """Return the path of a console command of this environment."""
    return Path(sys.executable).with_name(name)


def build_sample(folder: Path, *overrides: str) -> Path:
    """Build the sample corpus."""
    words = [program("myxtts-data"), "build", "configs/preprocess_sample.yaml", *overrides, "--data", folder]
    ended = end(begin(words), within_s=BUILD_S)
    assert ended.code == 0, ended.err
    return folder


def kill_all() -> None:
    """Kill the processes that still run."""
    for process in _BEGUN:
        process.kill()
