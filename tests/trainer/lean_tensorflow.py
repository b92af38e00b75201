"""Importing this module imports TensorFlow quietly, and without the packages that nothing here asks Keras for.

XLA compiles with fewer optimizations than for a user: programs compute the same, and are there sooner.
"""

from __future__ import annotations

import os

from tests.trainer.processes import FAST_COMPILATION, xla_flags

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ["XLA_FLAGS"] = xla_flags(FAST_COMPILATION)

from trainer.platform import lean_tensorflow  # noqa: F401
