"""Less autotuning by XLA on GPUs, so that its programs compile in half of the time or less.

XLA writes dozens of variants of each matrix product and each fusion, compiles them with Triton, and times them, most of
them one after another. On an H200 with 16 cores and TensorFlow 2.21, with seven other programs compiling, `nano`'s step
took 191 s with XLA's defaults and 85 s with these flags; `normal`'s took 200 s with them, and was not done after 450 s
with Triton's matrix products. Without Triton, matrix products come from cuBLAS, whose variants are still timed.
"""

from __future__ import annotations

import os

FLAGS = ("--xla_gpu_experimental_enable_fusion_autotuner=false", "--xla_gpu_enable_triton_gemm=false")


def reduce_autotuning() -> None:
    """Have XLA, which reads XLA_FLAGS at its start, tune less; flags that the user has set there are kept.

    Where XLA_FLAGS names a file of flags, nothing is changed.
    """
    given = os.environ.get("XLA_FLAGS", "").strip()
    if given and not given.startswith("-"):
        return
    names = {flag.partition("=")[0] for flag in given.split()}
    added = [flag for flag in FLAGS if flag.partition("=")[0] not in names]
    os.environ["XLA_FLAGS"] = " ".join(filter(None, (given, *added)))
