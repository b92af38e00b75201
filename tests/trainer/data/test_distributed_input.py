"""One stream on several replicas: the same global batches, each record once, and nobody waits for ever."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shared.dataset import Dataset
from tests.trainer.batches import as_numpy, epochs, make_stream
from tests.trainer.distributed_reader import EPOCHS
from trainer.data.position import Position, Share

SETTINGS = {"chunk_bytes": 900_000}
TIMEOUT_S = 240


def parts(dataset: Dataset, share: Share) -> list[dict]:
    """The parts of one process, and the epochs to which they belong."""
    stream, _, _ = make_stream(dataset, **SETTINGS)
    parts = as_numpy(stream.batches(Position(), share=share))
    return list(itertools.takewhile(lambda part: part["next"][0] < EPOCHS, parts))


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [*(pytest.param(one, marks=pytest.mark.soak) for one in (1, 2)), 3])
def test_replicas_share_the_global_batches_and_hear_every_record_once(many_shards: Dataset, replicas: int) -> None:
    """In one process and in as many as there are replicas; the shards hold unequal numbers of records."""
    whole = epochs(make_stream(many_shards, **SETTINGS)[0], until=EPOCHS)
    records = sum(shard.records for shard in many_shards.info.shards_of("train"))
    together = parts(many_shards, Share(0, replicas, replicas))
    assert len(together) == replicas * len(whole)
    heard: dict[int, list[int]] = {epoch: [] for epoch in range(EPOCHS)}
    for batch, *dealt in zip(whole, *(together[number::replicas] for number in range(replicas)), strict=True):
        assert len({part["mel"].shape for part in dealt}) == 1
        assert all(part["next"].tolist() == batch["next"].tolist() for part in dealt)
        for name in ("mel", "frames", "tokens", "token_counts", "rows"):
            for number, part in enumerate(dealt):
                expected = batch[name][number::replicas]
                assert part[name][: len(expected)].tobytes() == expected.tobytes(), name
        for part in dealt:
            heard[int(batch["next"][0])] += part["rows"][part["rows"] >= 0].tolist()
    for epoch, rows in heard.items():
        assert sorted(rows) == list(range(records)), epoch
    for number in range(replicas):
        alone = parts(many_shards, Share(number, 1, replicas))
        assert [part["rows"].tolist() for part in alone] == [
            part["rows"].tolist() for part in together[number::replicas]
        ]


def run(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.trainer.distributed_reader", *map(str, words)], stderr=subprocess.PIPE, text=True
    )


def lines(path: Path, process: subprocess.Popen[str]) -> list[dict]:
    try:
        _, stderr = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    assert process.returncode == 0, stderr[-3000:]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check(many_shards: Dataset, *, by_replica: list[list[dict]]) -> None:
    """Two replicas got the rows 0, 2, 4 … and 1, 3, 5 … of each batch, and their sums were reduced over both."""
    whole = epochs(make_stream(many_shards, **SETTINGS)[0], until=EPOCHS)
    assert [len(lines) for lines in by_replica] == [len(whole)] * 2
    for batch, *dealt in zip(whole, *by_replica, strict=True):
        for number, line in enumerate(dealt):
            expected = batch["rows"][number::2].tolist()
            assert line["rows"] == expected + [-1] * (len(line["rows"]) - len(expected))
            assert line["shape"] == [-(-len(batch["rows"]) // 2), *batch["mel"].shape[1:]]
            assert line["next"] == batch["next"].tolist()
            assert line["frames"] == np.sum(batch["frames"][number::2])
            assert line["all_frames"] == np.sum(batch["frames"])


@pytest.mark.slow
def test_a_mirrored_strategy_on_two_devices_hears_what_one_device_hears(many_shards: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "mirrored"
    found = lines(out, run(many_shards.layout.root, out, "mirrored"))
    by_replica = [[line for line in found if line["replica"] == replica] for replica in range(2)]
    assert [{line["device"][-5:] for line in replica} for replica in by_replica] == [{"CPU:0"}, {"CPU:1"}]
    check(many_shards, by_replica=by_replica)


@pytest.mark.slow
def test_two_worker_processes_hear_what_one_process_hears(many_shards: Dataset, tmp_path: Path) -> None:
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        ports = f"{first.getsockname()[1]},{second.getsockname()[1]}"
    outs = [tmp_path / "0", tmp_path / "1"]
    started = [run(many_shards.layout.root, out, "workers", ports, str(index)) for index, out in enumerate(outs)]
    try:
        check(many_shards, by_replica=[lines(out, process) for out, process in zip(outs, started, strict=True)])
    finally:
        for process in started:
            process.kill()
