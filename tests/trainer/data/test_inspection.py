"""`myxtts-train inspect-input` as a user sees it, on the sample corpus."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from shared.config import load_config
from shared.dataset import Dataset
from tests.commands import Outcome
from tests.trainer.batches import until_epoch
from trainer.config.train_config import TrainConfig
from trainer.data.epoch_preview import EpochStats
from trainer.data.inspection import inspect_input
from trainer.data.pipeline import Stream

CONFIG = "configs/train_sample.yaml"


@pytest.fixture
def inspect(command: Callable[..., Outcome], data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """The command on the sample corpus, in a terminal so wide."""

    def run(*words: str | Path, columns: int = 80) -> Outcome:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")  # the command sets it, and the tests after it may want a GPU
        return command("inspect-input", CONFIG, *words, "--data", data)

    return run


@pytest.mark.parametrize("columns", [80, 120])
def test_the_plan_is_told_within_the_terminal(inspect: Callable[..., Outcome], dataset: Dataset, columns: int) -> None:
    outcome = inspect("input.sampling.language_temperature=2", columns=columns)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= columns
    train = sum(shard.records for shard in dataset.info.shards_of("train"))
    total = next(line for line in lines if line.startswith(" all") or line.startswith("all"))
    assert f"{train}" in total
    for name in ("Batches", "epoch 0", "Number of shapes", "language", "source", "speaker", "Longest clips"):
        assert name in outcome.out


def test_every_number_is_that_of_the_manifests(dataset: Dataset) -> None:
    config = load_config(CONFIG, of=TrainConfig)
    inspection = inspect_input(config, dataset=dataset)
    table = dataset.manifest("train").to_pylist()
    for place, bucket in enumerate(inspection.plan.buckets):
        own = [row for row, chosen in zip(table, inspection.bucket, strict=True) if chosen == place]
        assert all(row["frames"] <= bucket.frames and row["tokens"] <= bucket.tokens for row in own)
        assert inspection.plan.bucket_plan.records[place] == len(own)
        padding = 1 - sum(row["frames"] for row in own) / (len(own) * bucket.frames)
        assert inspection.padding[place] == pytest.approx(padding)
        mel, tokens, numbers = bucket.frames * 80 * 2, bucket.tokens * 4, 2 * 4 + 8
        assert inspection.batch_bytes[place] == bucket.clips * (mel + tokens + numbers)
    longest = sorted(table, key=lambda row: -row["frames"])[:5]
    assert [frames for _, frames, _ in inspection.longest] == [row["frames"] for row in longest]
    for share in inspection.plan.sampling_shares["language"]:
        assert share.records == sum(row["language"] == share.name for row in table)
        assert share.epoch_hours == pytest.approx(
            sum(row["duration_s"] for row in table if row["language"] == share.name) / 3600
        )


@pytest.mark.slow
def test_the_first_epoch_is_the_one_that_the_stream_gives(many_shards: Dataset) -> None:
    """Three chunks, so that remainders move up and last batches are partly empty, and repeats by temperature."""
    overrides = ["input.chunk_bytes=2000000", "input.buckets=3", "input.sampling.language_temperature=3"]
    config = load_config(CONFIG, of=TrainConfig, overrides=overrides)
    inspection = inspect_input(config, dataset=many_shards)
    plan = inspection.plan
    stream = Stream(many_shards, split="train", plan=plan, config=config.input, seed=config.seed)
    batches, records, frames = ([0] * len(plan.buckets) for _ in range(3))
    for batch in until_epoch(stream, 1):
        shape = (*batch["mel"].shape[:2], batch["tokens"].shape[1])
        place = plan.buckets.index(shape)
        batches[place] += 1
        records[place] += int((batch["frames"].numpy() > 0).sum())
        frames[place] += int(batch["frames"].numpy().sum())
    filled = inspection.first_epoch
    assert (filled.batches.tolist(), filled.records.tolist(), filled.frames.tolist()) == (batches, records, frames)
    padded = sum(count * bucket.clips * bucket.frames for count, bucket in zip(batches, plan.buckets, strict=True))
    assert filled.total_padding(plan.buckets) == pytest.approx(1 - sum(frames) / padded)


def test_an_epoch_in_which_nothing_is_heard_has_no_padding(dataset: Dataset) -> None:
    config = load_config(CONFIG, of=TrainConfig)
    plan = inspect_input(config, dataset=dataset).plan
    nothing = EpochStats(*np.zeros((3, len(plan.buckets)), np.int64))
    assert nothing.total_padding(plan.buckets) == 0.0
    assert nothing.padding(plan.buckets).tolist() == [0.0] * len(plan.buckets)


def test_left_out_clips_are_told(inspect: Callable[..., Outcome], dataset: Dataset) -> None:
    frames = dataset.manifest("train")["frames"].to_numpy()
    limit = int(np.sort(frames)[-4])
    left = int((frames > limit).sum())
    outcome = inspect(f"input.max_frames={limit}", columns=120)
    assert re.search(rf"left out of train, longer than input.max_frames: {left} records", outcome.out)


@pytest.mark.slow
def test_the_picture_is_one(inspect: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = inspect("--out", tmp_path / "input.png")
    assert f"plot: {tmp_path / 'input.png'}" in outcome.out
    image = matplotlib.image.imread(tmp_path / "input.png")
    assert image.shape == (960, 1560, 4)
    assert len(np.unique(image[:, :, :3].reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize(
    ("name", "messages"), [("input.gif", "expected a name that ends in .png"), ("no/input.png", "no folder")]
)
def test_a_picture_that_cannot_be_is_told_before_any_work(
    inspect: Callable[..., Outcome], tmp_path: Path, name: str, messages: str
) -> None:
    outcome = inspect("--out", tmp_path / name)
    assert outcome.code == 2
    assert outcome.out == ""
    assert messages in outcome.err
    assert "Traceback" not in outcome.err
