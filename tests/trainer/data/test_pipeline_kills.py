"""Input streams that are killed and resumed, that start deep in an epoch, and that run for many epochs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from shared.dataset import Dataset
from tests.trainer.batches import DEVICE, make_stream
from tests.trainer.large_datasets import repeat_shard
from trainer.data.position import Position

SETTINGS = {"chunk_bytes": 900_000, "global_frames_per_batch": 1000}
TIMEOUT_S = 300


def start(*words: object, settings: dict) -> subprocess.Popen[str]:
    kind, data, *more = words
    order = (kind, data, *more[:2], json.dumps(settings), *more[2:])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.trainer.stream_process", *map(str, order)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONMALLOC": "malloc"},  # its objects are counted, too
    )


def written(path: Path) -> list[list]:
    """The whole lines of a file that someone may be writing."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_a_stream_that_is_killed_again_and_again_continues_as_if_undisturbed(
    many_shards: Dataset, tmp_path: Path, kills: int
) -> None:
    """kill -9 after a random number of batches; each process has another number of parallel reads."""
    epochs = 2 * kills  # more than the killed processes can reach
    data, out = many_shards.layout.root, tmp_path / "killed"
    chance = random.Random(9)
    undisturbed = start("rows", data, tmp_path / "whole", epochs, settings=SETTINGS)
    found: list[list] = []
    for _ in range(kills):
        out.unlink(missing_ok=True)
        position = found[-1][0] if found else [0, 0, 0]
        settings = {**SETTINGS, "num_parallel_reads": chance.randint(1, 9)}
        process = start("rows", data, out, epochs, *position, settings=settings)
        expected, deadline_s = chance.randint(1, 25), time.monotonic() + TIMEOUT_S
        while len(written(out)) < expected and process.poll() is None and time.monotonic() < deadline_s:
            time.sleep(0.002)
        process.kill()
        _, stderr = process.communicate()
        assert process.returncode == -9, stderr
        found += written(out)
    _, stderr = undisturbed.communicate(timeout=TIMEOUT_S)
    assert undisturbed.returncode == 0, stderr
    whole = written(tmp_path / "whole")
    assert kills <= len(found) < len(whole)
    assert found == whole[: len(found)]


@pytest.mark.soak
def test_a_position_deep_in_an_epoch_is_entered_as_fast_as_its_start(dataset: Dataset, tmp_path: Path) -> None:
    """100,000 records deep, in chunks of as many records as real ones have; with the manifests read, as at a start."""
    large = repeat_shard(dataset, folder=tmp_path / "crowd", shards=25, records=5_000)
    settings = {"chunk_bytes": 15 << 20, "global_frames_per_batch": 16_000}

    def enter(position: Position, **others: int) -> float:
        began_s = time.process_time()
        stream, _, _ = make_stream(large, **settings, **others)
        batch = next(stream.endless(position, device=DEVICE))
        assert batch["next"].numpy().tolist() == [position.epoch, position.chunk, position.batch + 1]
        return time.process_time() - began_s

    records = sum(int((batch["rows"] >= 0).sum()) for batch in first_chunk(large, settings))
    deep = Position(0, 100_000 // records, 5)
    enter(Position())
    shallow_s, deep_s, others_s = (
        min(enter(position, **others) for _ in range(3))
        for position, others in ((Position(), {}), (deep, {}), (deep, {"num_parallel_reads": 1}))
    )
    print(
        f"{records} records a chunk; CPU time to the first batch: at the start {shallow_s:.2f} s, "
        f"100,000 records deep {deep_s:.2f} s, with one reader {others_s:.2f} s"
    )
    assert max(deep_s, others_s) < 1.5 * shallow_s


def first_chunk(dataset: Dataset, settings: dict) -> list[dict]:
    stream, _, _ = make_stream(dataset, **settings)
    batches = []
    for batch in stream.endless(device=DEVICE):
        if int(batch["next"][1]) > 0:
            return batches
        batches.append({"rows": batch["rows"].numpy()})
    raise AssertionError("an endless stream ended")


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [14, pytest.param(60, marks=pytest.mark.soak)])
def test_memory_in_use_does_not_grow_from_epoch_to_epoch(dataset: Dataset, tmp_path: Path, epochs: int) -> None:
    """The bound is 126 bytes for each clip in the median epoch; tf.data may enlarge a buffer in one of them."""
    large = repeat_shard(dataset, folder=tmp_path / "large", shards=4, records=5_000)
    settings = {"chunk_bytes": 4 << 20, "global_frames_per_batch": 4_000}
    process = start("memory", large.layout.root, epochs, settings=settings)
    stdout, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, stderr
    sizes_mib = [float(line) for line in stdout.split()]
    print("memory in use at the end of each epoch, MiB:", sizes_mib)
    assert len(sizes_mib) == epochs
    assert np.median(np.diff(sizes_mib)) <= 126 * 20_000 / 2**20
