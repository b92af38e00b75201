"""The sums of a shard's mels are exact, however many they are."""

from __future__ import annotations

from pathlib import Path

from pipelines.build.shard_report import RecordTotals
from pipelines.build.shard_statistics import ShardStatistics
from shared.dataset import Dataset
from shared.tfrecord import read_framed_records

MOST = 2**63 - 1  # of an integer of 64 bits


def test_sums_of_more_than_64_bits_are_exact(small: Path) -> None:
    dataset = Dataset.open(small)
    with dataset.layout.shard(dataset.info.shards[0].name).open("rb") as file:
        payload = next(read_framed_records(file)).payload
    n_mels = dataset.info.contract.features.n_mels
    older = RecordTotals(records_by_token={}, mel_sums=[-MOST] * n_mels, mel_squares=[MOST] * n_mels)
    alone, after = ShardStatistics(dataset.info.contract), ShardStatistics(dataset.info.contract, older=older)
    alone.add(payload)
    after.add(payload)
    one, all_ = alone.totals(), after.totals()
    assert all_.mel_squares == [MOST + value for value in one.mel_squares]
    assert all_.mel_sums == [value - MOST for value in one.mel_sums]
    after.remove(payload)
    assert after.totals() == older
