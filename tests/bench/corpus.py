"""Corpora for benchmarks: any number of clips with the lengths of LJSpeech, cut from the sample corpus."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import soundfile

from pipelines.config import BuildConfig

SAMPLE = Path("tests/corpora/english")
RATE_HZ = 22_050


def bench_config(folder: Path, *, clips: int) -> BuildConfig:
    """The configuration of a build of `clips` new clips, all for training, in eight shards."""
    root = make_corpus(folder / "corpus", clips=clips)
    return BuildConfig.model_validate(
        {
            "sources": {"bench": {"reader": "ljspeech", "root": root, "language": "eng_Latn"}},
            "tokenizer": "tests/corpora/tokenizer.json",
            "utterances_per_shard": max(clips // 25, 64),
            "checks": {"min_duplicate_bits": None},  # its clips overlap
            "validation_fraction": 0,
        }
    )


def make_corpus(root: Path, *, clips: int, seed: int = 1) -> Path:
    """An LJSpeech-shaped corpus of `clips` clips from 1.1 to 10.1 s, 6.6 s on average, cut from the sample."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "wavs").mkdir(parents=True)
    rows = (SAMPLE / "metadata.csv").read_text(encoding="utf-8").splitlines()
    texts = [row.split("|")[2] for row in rows]
    tape = np.concatenate(
        [soundfile.read(SAMPLE / "wavs" / f"{row.split('|')[0]}.wav", dtype="int16")[0] for row in rows]
    )
    chance = np.random.default_rng(seed)
    with (root / "metadata.csv").open("w", encoding="utf-8") as metadata:
        for number in range(clips):
            samples = int(RATE_HZ * (1.1 + 9.0 * chance.beta(1.9, 1.2)))
            start = int(chance.integers(0, len(tape) - samples))
            text = " ".join(chance.choice(texts, size=1 + samples // (3 * RATE_HZ)))
            metadata.write(f"B{number:06d}|{text}|{text}\n")
            soundfile.write(root / "wavs" / f"B{number:06d}.wav", tape[start : start + samples], RATE_HZ)
    return root
