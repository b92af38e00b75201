"""Benchmark of validation against sha256 of the same bytes on one core, and of a rerun with --changed.

    python -m tests.bench.validation

The floor of a check that reads every byte is its hash. What framing, checksums, records, mels, sums and tables cost
besides is the distance to 1: at 0.5 it is as much again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pipelines.build.build_dataset import build_dataset
from pipelines.execution.progress_counter import ProgressCounter
from pipelines.validation.cross_shard import shard_hashes
from pipelines.validation.hashing_reader import HashingReader
from pipelines.validation.manifest_rows import parse_rows
from pipelines.validation.mel_sums import mel_sums_for
from pipelines.validation.record_checks import mel_range
from pipelines.validation.shard_inspection import ShardInspection
from shared.dataset import Dataset
from shared.tfrecord import FOOTER_BYTES, HEADER_BYTES, check_body, payload_length
from tests.bench.corpus import bench_config
from tests.bench.measure import interleaved, rates
from tests.bench.summary import add_row

CLIPS, REPEATS = 10_000, 5
MIN_OF_FLOOR = 0.5
COMMAND = Path(sys.executable).with_name("myxtts-data")
BLOCK_BYTES = 1 << 18


def main() -> None:
    """Print the table, and the time of whole commands."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        build_dataset(bench_config(Path(folder), clips=CLIPS), data=data)
        by_part(Dataset.open(data), tallies=Path(folder) / "progress")
        whole_commands(data)


def by_part(dataset: Dataset, *, tallies: Path) -> None:
    """Measure each part alone, then all, in bytes of the dataset per second of one core."""
    stems = [shard.name for shard in dataset.info.shards]
    files = [path for stem in stems for path in dataset.layout.shard_files(stem)]
    total_bytes = sum(path.stat().st_size for path in files)
    parts: dict[str, Callable[[], object]] = {
        "sha256 of every file": lambda: [_hash(path) for path in files],
        "  reading alone": lambda: [_read(path) for path in files],
        "  sha256, framing and checksums of the shards": lambda: [
            _frames(dataset.layout.shard(stem)) for stem in stems
        ],
        "  sums and range of the mels": lambda: _bands(dataset),
        "  tables and their rows": lambda: [_rows(dataset.layout.manifest(stem)) for stem in stems],
        "inspection, all of it": lambda: [_inspect(dataset, number, tallies) for number in range(len(stems))],
    }
    results = interleaved({name: lambda run=run: run() and total_bytes for name, run in parts.items()}, repeats=REPEATS)
    print(rates(f"validation of {CLIPS} records, {total_bytes / 1e6:.0f} MB", results, floor=next(iter(parts))))
    floor, *_, whole = results.values()
    ratio = statistics.median(theirs.cpu_s / ours.cpu_s for ours, theirs in zip(whole, floor, strict=True))
    add_row(
        "validation",
        f"inspection of {CLIPS:,} records, CPU time",
        measured=f"{ratio:.2f}",
        floor="sha256 of every file",
        bound=f"≥ {MIN_OF_FLOOR}",
        met=ratio >= MIN_OF_FLOOR,
    )


def whole_commands(data: Path) -> None:
    """Seconds from start to end of the process, Python and Beam included."""
    for words in ([], ["--changed"], ["--changed"], ["--changed"], []):
        started_s = time.perf_counter()
        subprocess.run([COMMAND, "validate", "--data", data, *words], capture_output=True, check=True)
        seconds = time.perf_counter() - started_s
        report = json.loads(max((data / "validation").glob("*.json")).read_bytes())
        print(
            f"validate {' '.join(words):9}: {seconds:5.1f} s, {report['trusted']} of {report['shards']} shards trusted"
        )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> None:
    buffer = bytearray(BLOCK_BYTES)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _frames(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        window, offset, size_bytes = HashingReader(file), 0, path.stat().st_size
        while offset < size_bytes:
            length = payload_length(bytes(window.view(offset, HEADER_BYTES)), index=0, offset_bytes=offset)
            body = window.view(offset + HEADER_BYTES, length + FOOTER_BYTES)
            check_body(body, length_bytes=length, index=0, offset_bytes=offset)
            offset += HEADER_BYTES + length + FOOTER_BYTES
        return window.sha256()


def _bands(dataset: Dataset) -> bool:
    """As many mels of the mean length as there are records, from the cache as in an inspection."""
    contract, shards = dataset.info.contract, dataset.info.shards
    records, frames = sum(shard.records for shard in shards), sum(shard.frames for shard in shards)
    low, high = mel_range(contract)
    bands, mean_frames = mel_sums_for(contract, low=low, high=high), frames // records
    mel = np.linspace(-11, 2, mean_frames * contract.features.n_mels).astype("<f2").view(np.uint8)
    return all([bands.add(mel, frames=mean_frames) for _ in range(records)])


def _rows(path: Path) -> int:
    return len(parse_rows(pq.ParquetFile(path).read(use_threads=False)))


def _inspect(dataset: Dataset, number: int, tallies: Path) -> None:
    shard = dataset.info.shards[number]
    tally = ProgressCounter(tallies, name=shard.name)
    inspection = ShardInspection(shard, layout=dataset.layout, info=dataset.info, counter=tally)
    assert not inspection.verdict().findings
    assert list(shard_hashes(inspection.manifest, ids=inspection.keys, shard_name=shard.name, groups=1))


if __name__ == "__main__":
    main()
