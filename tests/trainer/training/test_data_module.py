"""The input of several devices: shared training batches, and validation batches of one device's size."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.batches import until_epoch
from trainer.checkpoint.run_dir import prepare_run_info, read_run_info, write_run_files
from trainer.config.train_config import TrainConfig
from trainer.data.corrupt_records import CorruptRecord
from trainer.training.data_module import REDUCTION, DataModule

DEVICES = 3
CONFIG = TrainConfig.model_validate(
    {"model": {"size": "pico"}, "input": {"global_frames_per_batch": 8000, "buckets": 4}}
)


@pytest.fixture
def feed(dataset: Dataset, tmp_path: Path) -> DataModule:
    info = prepare_run_info(tmp_path, config=CONFIG, dataset=dataset)
    write_run_files(tmp_path, info, dataset=dataset)
    return DataModule(CONFIG, dataset=dataset, run=tmp_path, info=info, devices=DEVICES)


@pytest.mark.slow
def test_a_validation_batch_is_no_larger_than_the_part_of_one_device(feed: DataModule) -> None:
    parts = {bucket[1:]: -(-bucket.clips // DEVICES) for bucket in feed.plan.buckets}
    assert any(bucket.clips > parts[bucket[1:]] for bucket in feed.plan.buckets)
    for batch in feed.validation.once(device="/CPU:0", log=print):
        clips, frames, _ = batch["mel"].shape
        assert clips == parts[frames, batch["tokens"].shape[1]]


def test_a_bucket_that_does_not_fit_is_reduced_down_to_one_clip_per_device(feed: DataModule, tmp_path: Path) -> None:
    bucket = max(feed.plan.buckets)
    while (part := -(-bucket.clips // DEVICES)) > 1:
        assert feed.reduce_bucket(bucket) == DEVICES * int(REDUCTION * part)
        bucket = feed.planned_bucket(bucket)
        assert -(-bucket.clips // DEVICES) == int(REDUCTION * part)
        assert feed.planned_bucket(bucket._replace(clips=1)) == bucket
    assert read_run_info(tmp_path).ceilings[-1].clips == 1
    with pytest.raises(UserError, match="a single clip of"):
        feed.reduce_bucket(bucket)
    assert read_run_info(tmp_path).ceilings == (), "another program may have filled the device"


@pytest.mark.slow
def test_more_padding_than_planned_is_logged_for_small_chunks(dataset: Dataset, tmp_path: Path) -> None:
    """Every chunk ends with a half-full batch per bucket, so small chunks have more padding."""

    def told(chunk_bytes: int) -> tuple[DataModule, list[str]]:
        settings = {"global_frames_per_batch": 8000, "buckets": 3, "chunk_bytes": chunk_bytes}
        config = TrainConfig.model_validate({"model": {"size": "pico"}, "input": settings})
        info = prepare_run_info(tmp_path, config=config, dataset=dataset)
        feed = DataModule(config, dataset=dataset, run=tmp_path, info=info, devices=1)
        return feed, [line for line in feed.summary_lines() if line.startswith("padding of epoch 0")]

    feed, (line,) = told(200_000)
    batches = list(until_epoch(feed.train, 1))
    heard, held = (sum(sizes) for sizes in zip(*map(sizes_of, batches), strict=True))
    assert line.startswith(f"padding of epoch 0: {1 - heard / held:.1%}, planned {feed.plan.bucket_plan.padding:.1%}; ")


def sizes_of(batch: dict) -> tuple[int, int]:
    clips, frames, _ = batch["mel"].shape
    return int(batch["frames"].numpy().sum()), clips * frames


def test_skipped_corrupt_records_are_remembered_after_a_bucket_was_reduced(feed: DataModule) -> None:
    feed.train.corrupt_records.append(damage := CorruptRecord(0, Path("shard"), 0, "a/b", "spoiled"))
    feed.reduce_bucket(max(feed.plan.buckets))
    assert feed.train.corrupt_records == [damage]
    assert feed.validation.corrupt_records == []


def test_the_limit_of_one_device_is_the_same_on_more_and_fewer_devices(
    feed: DataModule, dataset: Dataset, tmp_path: Path
) -> None:
    """A limit found on one or on several devices reduces each device's part, and no more."""
    planned = max(feed.plan.buckets)
    clips = feed.reduce_bucket(planned)
    info = read_run_info(tmp_path)
    for devices in (1, 2, DEVICES, 100):
        again = DataModule(CONFIG, dataset=dataset, run=tmp_path, info=info, devices=devices)
        assert again.planned_bucket(planned).clips == min(planned.clips, clips * devices // DEVICES)


@pytest.mark.parametrize(("frames", "devices", "is_told"), [(8000, 1, False), (32_000, 4, False), (16_000, 4, True)])
def test_few_frames_for_each_of_several_devices_are_a_line(
    dataset: Dataset, tmp_path: Path, frames: int, devices: int, is_told: bool
) -> None:
    config = TrainConfig.model_validate({"model": {"size": "pico"}, "input": {"global_frames_per_batch": frames}})
    info = prepare_run_info(tmp_path, config=config, dataset=dataset)
    feed = DataModule(config, dataset=dataset, run=tmp_path, info=info, devices=devices)
    lines = [line for line in feed.summary_lines() if "devices share" in line]
    assert lines == (
        [
            "4 devices share 16,000 frames a step, 4,000 for each; GPUs are better used by "
            "input.global_frames_per_batch=32000 or more"
        ]
        if is_told
        else []
    )
