"""Cost of mels computed during training: the same stream over stored mels and over audio files.

    python -m tests.bench.without_mels

Both give the same batches. The floor is the stream over stored float16 mels.
"""

from __future__ import annotations

import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from pipelines.build.build_dataset import build_dataset
from shared.dataset import Dataset
from tests.bench.corpus import bench_config
from tests.bench.measure import interleaved, report
from tests.bench.summary import add_row
from trainer.config.data_config import InputConfig
from trainer.data.pipeline import Stream
from trainer.data.plan import plan_dataset

CLIPS = 800
MIN_CLIPS = {"float16": 8_000, "none": 800}  # of one repeat
REPEATS = 5
CLIPS_PER_BATCH = 32
NAMES = {"float16": "stored mels", "none": "mels computed from the audio files"}


def main() -> None:
    """Print the size of the builds, and the table."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        config = bench_config(Path(folder), clips=CLIPS)
        work = {}
        for mel_dtype, name in NAMES.items():
            started_s = time.perf_counter()
            data = Path(folder) / mel_dtype
            build_dataset(config.model_copy(update={"mel_dtype": mel_dtype}), data=data)
            seconds = time.perf_counter() - started_s
            dataset = Dataset.open(data)
            shard_bytes = sum(shard.bytes for shard in dataset.info.shards)
            print(f"{name}: built in {seconds:.1f} s, {shard_bytes / CLIPS:,.0f} bytes a clip in the shards")
            work[name] = _read(dataset, clips=MIN_CLIPS[mel_dtype])
        results = interleaved(work, repeats=REPEATS)
    print(report(f"stream over {CLIPS} clips, warm cache", results, floor=NAMES["float16"]))
    stored, computed = (
        statistics.median(one.clips_per_s for one in results[NAMES[name]]) for name in ("float16", "none")
    )
    add_row("without_mels", "clips/s, mels computed", measured=f"{computed / stored:.3f}", floor="mels stored")


def _read(dataset: Dataset, *, clips: int) -> Callable[[], int]:
    inputs = InputConfig(global_frames_per_batch=1 << 30, global_max_clips=CLIPS_PER_BATCH)
    plan = plan_dataset(dataset, config=inputs, frames_per_step=4, steps=100)
    batches = Stream(dataset, split="train", plan=plan, config=inputs, seed=1).endless(device="/CPU:0")
    iterator = iter(batches)

    def read() -> int:
        done = 0
        while done < clips:
            done += int(tf.math.count_nonzero(next(iterator)["frames"]))
        return done

    return read


if __name__ == "__main__":
    main()
