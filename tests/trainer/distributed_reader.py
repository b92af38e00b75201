"""Read a stream that is distributed to replicas, and write what each replica received.

    python -m tests.trainer.distributed_reader DATA OUT mirrored                 two logical CPU devices, one process
    python -m tests.trainer.distributed_reader DATA OUT workers PORT,PORT INDEX  one of two processes on loopback

It writes a line per batch and replica of this process: the replica's rows, the sum of its frames from `strategy.run`,
and the sum over all replicas from `strategy.reduce`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from trainer.platform.tf_import import import_tensorflow

EPOCHS = 2


def main() -> None:
    data, out, kind, *more = sys.argv[1:]
    if kind == "workers":
        ports, index = more
        workers = [f"127.0.0.1:{port}" for port in ports.split(",")]
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": int(index)}}
        )
    import_tensorflow()
    import tensorflow as tf

    if kind == "mirrored":
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        strategy: tf.distribute.Strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
    else:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    Path(out).write_text("".join(f"{json.dumps(line)}\n" for line in read(data, strategy)), encoding="utf-8")


def read(data: str, strategy) -> list[dict]:
    import tensorflow as tf

    from shared.dataset import Dataset
    from tests.trainer.batches import make_stream
    from trainer.data.distributed_input import distribute, local_values

    stream, _, _ = make_stream(Dataset.open(data), chunk_bytes=900_000)

    @tf.function
    def frames(batch: dict[str, tf.Tensor]) -> tf.Tensor:
        return strategy.run(lambda part: tf.reduce_sum(part["frames"]), args=(batch,))

    lines = []
    for batch in distribute(stream, strategy):
        if int(local_values(batch["next"])[0][0]) == EPOCHS:
            break
        own = frames(batch)
        total = int(strategy.reduce(tf.distribute.ReduceOp.SUM, own, axis=None))
        parts = [strategy.experimental_local_results(batch[name]) for name in ("rows", "next", "mel")]
        for replica, (rows, after, mel, summed) in enumerate(
            zip(*parts, strategy.experimental_local_results(own), strict=True)
        ):
            lines.append(
                {
                    "replica": replica,
                    "rows": rows.numpy().tolist(),
                    "next": after.numpy().tolist(),
                    "shape": list(mel.shape),
                    "device": mel.device,
                    "frames": int(summed),
                    "all_frames": total,
                }
            )
    return lines


if __name__ == "__main__":
    main()
