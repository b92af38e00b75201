"""Benchmark of synthesis: cached steps against running the prefix again, batches against sentences alone, latency.

    python -m tests.bench.generation [REPEATS]

Models of the sizes `nano` and `tiny` with fresh weights speak a sentence of 18 tokens for
2.5 s (54 steps of 4 frames), because no end is accepted:

- the sentence as the synthesizer speaks it, its first part of 16 steps, and the bare compiled steps;
- the same steps without caches: at each one the decoder runs over all frames so far, padded to the next multiple of 16
  steps so that four compiled programs serve; what both compute is compared in tests/trainer/model/test_decoding.py;
- both once more for 10 s: what is saved grows with the number of frames that are not run again, and a step alone costs
  no less than to read the weights;
- 20 sentences alone and in batches of up to 16;
- Griffin-Lim of the 2.5 s.

All on the CPU in float32, by turns, medians; ratios are medians of the ratios of each round. Exit 1 where a bound is
missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np
import tensorflow as tf

from shared.features import preset
from tests.bench.summary import add_row
from trainer.config.model_config import ModelConfig
from trainer.model.xtts import XTTS
from trainer.platform.allocator import tune_allocator
from trainer.speech.generation import BATCH_ROWS, PART_STEPS, Generator, Prompt, Sampling
from trainer.speech.griffin_lim import griffin_lim

REPEATS = 7
SPEC = preset("hifigan-22k")
TOKENS, VOCABULARY, SENTENCES = 18, 64, 20
STEPS, LONG_STEPS = 54, 216  # of four frames: 2.5 s and 10 s
ENDLESS = Sampling(stop_threshold=1.0, is_guided=False)
BOUNDS_S = {"nano": {"sentence": 0.05, "first part": 0.03, "sentence and Griffin-Lim": 0.2}}
MIN_SPEEDUP, MAX_BATCH_SHARE = 10.0, 1 / 3


class Speaker:
    """A fresh model of a size, and its ways to speak."""

    def __init__(self, size: str, *, steps: int = STEPS):
        keras.utils.set_random_seed(1)
        config = ModelConfig.model_validate({"size": size, "precision": "float32"})
        self.model = XTTS(config, vocabulary_size=VOCABULARY, n_mels=SPEC.n_mels, log_silence=SPEC.log_silence)
        self.generator = Generator(self.model, xla=True, frames_per_second=SPEC.frames_per_second)
        tokens = np.arange(TOKENS, dtype=np.int32)
        self._steps = steps
        self.prompt = Prompt(tokens, self.generator.encode_voice([]), max_steps=steps)
        self.memory = self.generator._memory([self.prompt], rows=1)
        self._decode = tf.function(self._decoded, jit_compile=True, autograph=False)

    def sentence(self) -> np.ndarray:
        """The mel of the sentence."""
        return self.generator.speak([self.prompt], sampling=ENDLESS)[0].mel

    def first_part(self) -> np.ndarray:
        """The mel of its first part."""
        return next(self.generator.parts(self.prompt, sampling=ENDLESS)).mel

    def prefix_again(self) -> None:
        """The same steps, each with all frames before it."""
        r = self.model.config.frames_per_step
        for step in range(1, self._steps + 1):
            size = -(-step // PART_STEPS) * PART_STEPS
            self._decode(tf.zeros([1, size * r, SPEC.n_mels])).numpy()

    def _decoded(self, mel: tf.Tensor) -> tf.Tensor:
        return self.model.decoder(mel, self.memory).mean

    def alone(self) -> None:
        """Twenty sentences, one after another."""
        for _ in range(SENTENCES):
            self.sentence()

    def in_batches(self) -> None:
        """Twenty sentences, at most sixteen at a time."""
        for first in range(0, SENTENCES, BATCH_ROWS):
            rows = min(BATCH_ROWS, SENTENCES - first)
            self.generator.speak([self.prompt] * rows, sampling=ENDLESS)


class Bounded(NamedTuple):
    """A figure with its bound."""

    what: str
    measured: str
    floor: str
    bound: str
    met: bool | None


def figures_of(size: str, rounds: list[dict[str, float]]) -> list[Bounded]:
    """The figures of a size from the seconds of each round."""
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    medians["sentence and Griffin-Lim"] = medians["sentence"] + medians["Griffin-Lim"]
    bounds = BOUNDS_S.get(size, {})
    found = [
        Bounded(
            f"{size}: {name}",
            f"{1000 * seconds:.0f} ms",
            "2.5 s of speech" if name != "Griffin-Lim" else "",
            f"≤ {1000 * bounds[name]:.0f} ms" if name in bounds else "",
            seconds <= bounds[name] if name in bounds else None,
        )
        for name, seconds in medians.items()
        if name in ("sentence", "first part", "Griffin-Lim", "sentence and Griffin-Lim")
    ]
    speedup = statistics.median(one["prefix again"] / one["sentence"] for one in rounds)
    of_long = statistics.median(one["long prefix again"] / one["long sentence"] for one in rounds)
    share = statistics.median(one["in batches"] / one["alone"] for one in rounds)
    return [
        *found,
        Bounded(
            f"{size}: cached steps",
            f"{speedup:.1f} ×",
            "the prefix again",
            f"≥ {MIN_SPEEDUP:.0f} ×",
            speedup >= MIN_SPEEDUP,
        ),
        Bounded(f"{size}: cached steps, 10 s", f"{of_long:.1f} ×", "the prefix again", "", None),
        Bounded(
            f"{size}: {SENTENCES} sentences in batches",
            f"{share:.2f}",
            "alone",
            f"≤ {MAX_BATCH_SHARE:.2f}",
            share <= MAX_BATCH_SHARE,
        ),
    ]


def measure_size(size: str, *, repeats: int) -> list[dict[str, float]]:
    """Seconds of each way to speak, by turns; the first round compiles."""
    speaker, long = Speaker(size), Speaker(size, steps=LONG_STEPS)
    mel = speaker.sentence()
    ways: dict[str, Callable[[], object]] = {
        "sentence": speaker.sentence,
        "first part": speaker.first_part,
        "prefix again": speaker.prefix_again,
        "long sentence": long.sentence,
        "long prefix again": long.prefix_again,
        "alone": speaker.alone,
        "in batches": speaker.in_batches,
        "Griffin-Lim": lambda: griffin_lim(mel, spec=SPEC),
    }
    return [{name: _seconds(way) for name, way in ways.items()} for _ in range(repeats + 1)][1:]


def _seconds(way: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    way()
    return time.perf_counter() - started_s


def main() -> None:
    """Print the figures."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    tune_allocator()
    are_met = True
    for size in ("nano", "tiny"):
        for one in figures_of(size, measure_size(size, repeats=repeats)):
            verdict = {True: "met", False: "missed", None: ""}[one.met]
            print(f"{one.what:42} {one.measured:>10} {one.floor:18} {one.bound:10} {verdict}", flush=True)
            add_row("generation", one.what, measured=one.measured, floor=one.floor, bound=one.bound, met=one.met)
            are_met &= one.met is not False
    sys.exit(0 if are_met else 1)


if __name__ == "__main__":
    main()
