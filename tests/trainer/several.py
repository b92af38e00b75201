"""`myxtts-train` in a process of so many logical CPU devices, with a tiny model whose draws are alike on all of them.

    python -m tests.trainer.several DEVICES WORDS…

Logical devices can be made only before TensorFlow looks for any.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def main() -> None:
    devices, *words = sys.argv[1:]
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * int(devices))

    from tests.trainer.models import same_for_all
    from trainer import cli, step
    from trainer.model.size import SIZES, Size, Stack

    SIZES["pico"] = Size(Stack(16, 1), Stack(16, 1), Stack(16, 1), 8, 8, 8)
    step.Noise = same_for_all
    sys.argv = ["myxtts-train", *words]
    cli.main()


if __name__ == "__main__":
    main()
