"""Run `myxtts-train` with several logical CPU devices, and a tiny network whose noise is equal on all of them.

    python -m tests.trainer.logical_devices DEVICES [disturbed] WORDS…

Logical devices can be created only before TensorFlow initializes its devices. With `disturbed` the network is the toy,
the mels of the last device are NaN in the first step, and the second step does not fit into the memory of the first
device.
"""

from __future__ import annotations

import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from trainer.platform.tf_import import import_tensorflow


def main() -> None:
    devices, *words = sys.argv[1:]
    import_tensorflow()
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * int(devices))

    from tests.trainer import toy, two_hosts
    from tests.trainer.processes import skip_graph_optimizer
    from trainer import cli

    skip_graph_optimizer()

    if words[0] == "disturbed":
        toy.put_in(setattr, TrainStep=disturbed(two_hosts.ToyStep))
        words = words[1:]
    else:
        two_hosts.put_in("pico")
    sys.argv = ["myxtts-train", *words]
    cli.main()


def disturbed(kind: type) -> type:
    """Return a step class whose first batch is no number, and whose second update runs out of memory."""
    import tensorflow as tf

    class Disturbed(kind):  # type: ignore[misc]
        calls = 0

        def __call__(self, batch: dict[str, Any]) -> dict[str, tf.Tensor]:
            self.calls += 1
            if self.calls == 2:
                self.is_updating = True
                raise tf.errors.ResourceExhaustedError(None, None, "out of memory while trying to allocate")
            return super().__call__({**batch, "mel": self._poisoned(batch["mel"])} if self.calls == 1 else batch)

        def _poisoned(self, mel: Any) -> Any:
            last = self._strategy.num_replicas_in_sync - 1
            values = [one * float("nan") if number == last else one for number, one in enumerate(mel.values)]
            return self._strategy.experimental_distribute_values_from_function(
                lambda context: values[context.replica_id_in_sync_group]
            )

    return Disturbed


if __name__ == "__main__":
    main()
