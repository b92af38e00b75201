"""Importing this module imports TensorFlow quietly, and without the packages that nothing here asks Keras for.

Graphs are not optimized, and XLA compiles with fewer optimizations than for a user: functions and programs compute the
same, and are there sooner. Processes that tests start as a user does have TensorFlow's own graph optimizer.
"""

from __future__ import annotations

import os

from tests.trainer.processes import FAST_COMPILATION, skip_graph_optimizer, xla_flags

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ["XLA_FLAGS"] = xla_flags(FAST_COMPILATION)

from trainer.platform import lean_tensorflow  # noqa: F401

skip_graph_optimizer()
