"""Speed and memory of vocoders at the sizes that their authors released, with random weights, on the CPU.

    python -m tests.bench.vocoders

The real-time factor is seconds taken for a second of sound: of a sentence of 3 s, and of a minute at once, which
`Vocoder` divides. The peak is that of the whole process; `start` is what the process takes before the first sound.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from trainer.config.vocoder_config import BigVganConfig, GeneratorConfig, HiFiGanConfig, VocosConfig

SENTENCE_S, MINUTE_S, REPEATS = 3.0, 60.0, 3
V2_SIZES = HiFiGanConfig(upsample_initial_channel=128)
V3_SIZES = HiFiGanConfig(
    resblock="2",
    upsample_rates=(8, 8, 4),
    upsample_kernel_sizes=(16, 16, 8),
    upsample_initial_channel=256,
    resblock_kernel_sizes=(3, 5, 7),
    resblock_dilation_sizes=((1, 2), (2, 6), (3, 12)),
)
BIGVGAN_V2_SIZES = BigVganConfig(
    upsample_rates=(4, 4, 2, 2, 2, 2),
    upsample_kernel_sizes=(8, 8, 4, 4, 4, 4),
    upsample_initial_channel=1536,
    use_tanh_at_final=False,
    use_bias_at_final=False,
)


class Subject(NamedTuple):
    """A generator, the preset of its mels, and the greatest real-time factor that is allowed."""

    generator: GeneratorConfig
    features: str
    bound: float | None = None


SUBJECTS = {
    "Vocos": Subject(VocosConfig(), "vocos-24k", 0.05),
    "HiFi-GAN V1": Subject(HiFiGanConfig(), "hifigan-22k"),
    "HiFi-GAN V2": Subject(V2_SIZES, "hifigan-22k"),
    "HiFi-GAN V3": Subject(V3_SIZES, "hifigan-22k", 0.3),
    "BigVGAN v1 base": Subject(
        BigVganConfig(upsample_initial_channel=512, upsample_rates=(8, 8, 2, 2), upsample_kernel_sizes=(16, 16, 4, 4)),
        "bigvgan-24k-100",
    ),
    "BigVGAN v2": Subject(BIGVGAN_V2_SIZES, "bigvgan-24k-100"),
}


class Figures(NamedTuple):
    """What was measured of one vocoder."""

    parameters: int
    sentence: float  # real-time factor, median
    minute: float
    start_mb: float  # memory before the first sound
    peak_mb: float


def measure(subject: Subject) -> Figures:
    """Measure a vocoder in this process, whose peak of memory is then its own."""
    import numpy as np

    from shared.features import PRESETS
    from trainer.platform.tf_setup import start_tensorflow

    start_tensorflow(gpus="hidden")
    from trainer.vocoder.vocoder import Vocoder
    from trainer.vocoder.vocoder_file import make_generator

    spec = PRESETS[subject.features]
    generator = make_generator(subject.generator, n_mels=spec.n_mels)
    vocoder, random = Vocoder(generator, spec=spec), np.random.default_rng(0)
    start_mb = _peak_mb()

    def factor(duration_s: float) -> float:
        mel = random.normal(-5.0, 2.0, [round(duration_s * spec.frames_per_second), spec.n_mels]).astype(np.float32)
        started_s = time.perf_counter()
        samples = vocoder(mel)
        return (time.perf_counter() - started_s) * spec.sample_rate_hz / len(samples)

    factor(SENTENCE_S)  # traces
    sentence = statistics.median(factor(SENTENCE_S) for _ in range(REPEATS))
    return Figures(generator.count_params(), sentence, factor(MINUTE_S), start_mb, _peak_mb())


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    from tests.bench.summary import add_row

    print("vocoder          weights (M)  factor, 3 s  factor, 60 s  bound  start (MB)  peak (MB)")
    missed = False
    for name, subject in SUBJECTS.items():
        words = [sys.executable, "-m", __spec__.name, name]
        answer = subprocess.run(words, stdout=subprocess.PIPE, check=True)
        found = Figures(*json.loads(answer.stdout))
        bound = "" if subject.bound is None else f"{subject.bound:.2f}"
        print(
            f"{name:16} {found.parameters / 1e6:11.1f} {found.sentence:12.3f} {found.minute:13.3f} {bound:>6} "
            f"{found.start_mb:11,.0f} {found.peak_mb:10,.0f}",
            flush=True,
        )
        met = None if subject.bound is None else max(found.sentence, found.minute) <= subject.bound
        missed |= met is False
        measured = f"{found.sentence:.3f} s for a second of sound, peak {found.peak_mb:,.0f} MB"
        add_row("vocoders", f"{name}, released size", measured=measured, bound=f"≤ {bound}" if bound else "", met=met)
    if missed:
        raise SystemExit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(SUBJECTS[sys.argv[1]])))
    else:
        main()
