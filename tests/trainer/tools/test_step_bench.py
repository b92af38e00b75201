"""The bench of the training step, of sizes that take seconds: what it prints, and how it ends."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.processes import FAST_COMPILATION, xla_flags

# A step of next to nothing, compiled as any other; bounds that none can miss but the last of these.
SMALLER = """
import tensorflow as tf

from tests.bench import step
from tests.trainer.models import NARROW
from trainer.data.bucket_types import Bucket
from trainer.config.model_sizes import SIZES
from trainer.training.train_step import TrainStep


class Toy(TrainStep):
    def _on_one(self, batch):
        loss = tf.reduce_mean(tf.cast(batch["mel"], tf.float32) ** 2)
        return [tf.zeros(self._model.trainable_variables[0].shape)], {"loss": loss}, loss, tf.ones(2)


SIZES["nano"] = SIZES["small"] = NARROW
models, XTTS, AdamW = [], step.XTTS, step.AdamW
step.XTTS = lambda config, **sizes: models[0] if models else models.append(XTTS(config, **sizes)) or models[0]
step.AdamW = lambda config, *, steps, variables: AdamW(config, steps=steps, variables=variables[:1])
step.TrainStep, step.SIDE, step.TOLD = Toy, 64, 100
step.MIN_OF_PRODUCTS, step.MIN_OVER_EAGER = 0.0, 0.0
step.MAX_SPREAD = step.MAX_OFF = step.MAX_FIXED = step.MAX_LONGEST = step.MAX_MONITORING = 1e9
step.MIN_OVER_GRAPH = 1e9
step.main(1)
"""
MADE_UP = """
from tests.bench import step

found = [step.Finding("a", "1", "≥ 1", True), step.Finding("b", "0", "≥ 1", {met})]
step.beside_products = step.by_frames = step.monitored = lambda repeats: found[:1]
step.beside_others = lambda repeats: found
step.main(1)
"""
VERDICTS = {
    "of the matmul rate": "met",
    "eager over compiled": "met",
    "graph over compiled": "missed",
    "dearest over cheapest frame": "met",
    "farthest from a line": "met",
    "what no frame adds to, of a step": "met",
    "6 shapes by turns: longest call but each first, over its shape's median": "met",
    "what telling costs": "met",
}


def ended(code: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the bench hides GPUs and tunes the allocator."""
    environment = {**os.environ, "XLA_FLAGS": xla_flags(FAST_COMPILATION)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_figure_is_printed_with_its_verdict() -> None:
    bench = ended(SMALLER)
    title, *rows, last = bench.stdout.splitlines() or ["", ""]
    assert title.startswith("training step, "), bench.stderr
    assert len(rows) == len(VERDICTS), bench.stderr
    for row, (what, verdict) in zip(rows, VERDICTS.items(), strict=True):
        assert what in row
        assert row.endswith(f"  {verdict}"), row
        assert re.search(r"\d", row.rpartition(what)[2])
    assert "tests/trainer/data/test_whole_epochs.py" in last
    assert bench.returncode == 1


WANTED = """
from tests.bench.step import *

print(f"≥ {MIN_OF_PRODUCTS}|≥ {MIN_OVER_EAGER:g}|≥ {MIN_OVER_GRAPH:g}|≤ {MAX_SPREAD}|≤ {MAX_OFF:.0%}|≤ {MAX_FIXED:.0%}"
    f"|≤ {MAX_LONGEST:g}|≤ {MAX_MONITORING:.0%}")
"""


@pytest.mark.slow
def test_what_is_wanted_is_what_the_documentation_says() -> None:
    text = Path("docs/benchmarks.md").read_text(encoding="utf-8")
    _, section = text.split("## The training step: `tests.bench.step`\n")
    lines = itertools.dropwhile(lambda line: not line.startswith("|---"), section.splitlines())
    _, *rows = (line.split("|") for line in itertools.takewhile(bool, lines))
    bench = ended(WANTED)
    assert [row[2].strip().replace(" %", "%") for row in rows] == bench.stdout.strip().split("|"), bench.stderr


@pytest.mark.slow
@pytest.mark.parametrize("met", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_the_exit_code_says_whether_all_is_as_wanted(met: bool) -> None:
    bench = ended(MADE_UP.format(met=met))
    assert bench.returncode == (0 if met else 1), bench.stderr
    assert bench.stdout.count("missed") == (not met)
