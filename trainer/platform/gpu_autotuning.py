"""Less autotuning by XLA on GPUs: programs start training in minutes rather than in a quarter of an hour.

XLA writes dozens of variants of each matrix product and each fusion, compiles them with Triton, and times them, most of
them one after another. On an H200 with 16 cores and TensorFlow 2.21, other processes compiling beside it, `nano`'s step
compiled in 191 s with XLA's defaults and in 85 s with these flags, and `normal`'s in 200 s; with Triton's matrix
products it was not done after 450 s. Without Triton, matrix products come from cuBLAS, whose variants are still timed.
"""

from __future__ import annotations

import os

FLAGS = ("--xla_gpu_experimental_enable_fusion_autotuner=false", "--xla_gpu_enable_triton_gemm=false")


def reduce_autotuning() -> None:
    """Add the flags to XLA_FLAGS, which TensorFlow reads once; those that the user has set there are kept."""
    given = os.environ.get("XLA_FLAGS", "").split()
    names = {flag.partition("=")[0] for flag in given}
    os.environ["XLA_FLAGS"] = " ".join([*given, *(flag for flag in FLAGS if flag.partition("=")[0] not in names)])
