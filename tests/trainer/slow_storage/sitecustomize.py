"""Makes each record that the trainer reads take 100 ms more, in every Python process with this folder in PYTHONPATH.

So does storage that is far away: a reader waits and keeps no core busy, and several readers wait at the same time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))
from tests.changed_imports import change_on_import

WAIT_MICROSECONDS = 100_000


def _slow(module: Any) -> None:
    import tensorflow as tf  # the process imports it anyway, before this module

    read_run = module.BlockReader._read_run

    def read_run_slowly(self: object, run: tf.Tensor) -> tf.data.Dataset:
        record = tf.TensorSpec([], tf.string)
        slow = tf.raw_ops.SleepDataset(
            input_dataset=tf.data.experimental.to_variant(read_run(self, run)),
            sleep_microseconds=tf.constant(WAIT_MICROSECONDS, tf.int64),
            output_types=[record.dtype],
            output_shapes=[record.shape],
        )
        return tf.data.experimental.from_variant(slow, record)

    module.BlockReader._read_run = read_run_slowly


change_on_import({"trainer.data.reader": _slow})
