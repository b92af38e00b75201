"""Loader throughput against raw reading of the same shards.

    python -m tests.bench.loader

The floor is TensorFlow's own reader, shuffled and batched, with nothing parsed. Ours is the stream that training
uses: shuffled, bucketed, parsed, padded and masked, on the device.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from pipelines.build import build_dataset
from shared.dataset import Dataset
from tests.bench.corpus import bench_config
from tests.bench.measure import interleaved, report
from trainer.input.config import InputConfig
from trainer.input.plan import plan_dataset
from trainer.input.stream import Stream

CLIPS = 1_600
MIN_CLIPS = 16_000  # of one repeat
REPEATS = 5
CLIPS_PER_BATCH = 32


def main() -> None:
    """Print the table."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        build_dataset(bench_config(Path(folder), clips=CLIPS), data=Path(folder) / "data")
        dataset = Dataset.open(Path(folder) / "data")
        files = [str(dataset.layout.shard(shard.name)) for shard in dataset.info.shards_of("train")]
        raw_batches = iter(_raw(files))
        inputs = InputConfig(buckets=8, frames_per_batch=1 << 30, max_clips=CLIPS_PER_BATCH)
        plan = plan_dataset(dataset, config=inputs, frames_per_step=4, steps=100)
        stream = Stream(dataset, split="train", plan=plan, config=inputs, seed=1)
        ours = stream.endless(device="/CPU:0")

        def read_raw() -> int:
            clips = 0
            while clips < MIN_CLIPS:
                clips += len(next(raw_batches).numpy())
            return clips

        def read_ours() -> int:
            clips = 0
            while clips < MIN_CLIPS:
                batch = next(ours)
                clips += int(tf.math.count_nonzero(batch["frames"]))
            return clips

        candidates = {"raw TFRecordDataset, shuffled, batched": read_raw, "our stream": read_ours}
        results = interleaved(candidates, repeats=REPEATS)
    print(report(f"loader over {CLIPS} clips, warm cache, {plan.staircase}", results, floor=next(iter(candidates))))


def _raw(files: list[str]) -> tf.data.Dataset:
    raw = tf.data.Dataset.from_tensor_slices(files).interleave(
        tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=2, deterministic=True
    )
    return raw.shuffle(400).repeat().batch(CLIPS_PER_BATCH).prefetch(4)


if __name__ == "__main__":
    main()
