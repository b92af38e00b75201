"""The plan of a dataset's input: what is left out, how many shapes pay, what an epoch really pads."""

from __future__ import annotations

import itertools
import time
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.data.test_sampling import rows_of
from trainer.config.data_config import InputConfig
from trainer.data.bucket_count import BucketCountOption, cheapest_option
from trainer.data.manifest_rows import ManifestRows
from trainer.data.plan import Plan, plan_dataset, plan_rows

LENGTHS = strategies.lists(strategies.integers(1, 300), min_size=1, max_size=60)


def planned(
    frames: list[int], *, validation: list[int] | None = None, steps: int = 1000, **settings: Any
) -> tuple[Plan, dict[str, ManifestRows]]:
    """A plan of one source's records of 9 tokens each."""
    rows = {
        split: rows_of([("a", "x", "1")] * len(lengths), frames=lengths)
        for split, lengths in (("train", frames), ("validation", validation or [1]))
    }
    dataset: Any = SimpleNamespace(info=SimpleNamespace(sources={"x": SimpleNamespace(weight=1.0)}))
    config = InputConfig.model_validate({"global_frames_per_batch": 800, **settings})
    return plan_rows(rows, dataset=dataset, config=config, frames_per_step=4, steps=steps), rows


def test_longer_clips_than_max_frames_are_left_out_of_both_splits_and_named() -> None:
    plan, _ = planned([100, 900, 200, 950, 210], validation=[1000, 50], max_frames=300)
    assert plan.rates["train"].tolist() == [1, 0, 1, 0, 1]
    assert plan.rates["validation"].tolist() == [0, 1]
    assert plan.buckets[-1].frames == 216
    train, validation = plan.excluded["train"], plan.excluded["validation"]
    assert (train.records, train.share, train.hours) == (2, 0.4, pytest.approx(18.5 / 3600))
    assert train.longest == (("id3", 950), ("id1", 900))
    assert validation.longest == (("id0", 1000),)
    assert "left out of train" in plan.excluded_lines[0]
    assert "id3 (950 frames), id1 (900 frames)" in plan.excluded_lines[0]


def test_without_max_frames_nothing_is_left_out_and_validation_fits() -> None:
    plan, _ = planned([100, 900], validation=[1000, 50])
    assert plan.excluded == {}
    assert plan.buckets[-1].frames >= 1000


def test_leaving_out_every_clip_is_a_mistake_of_the_user() -> None:
    with pytest.raises(UserError, match=r"max_frames=40 leaves out every training record; the shortest has 50"):
        planned([50, 60], max_frames=40)


def test_no_record_is_a_mistake_of_the_user(dataset: Dataset) -> None:
    sources = {
        name: one.model_copy(update={"shards": tuple(shard for shard in one.shards if shard.split != "train")})
        for name, one in dataset.info.sources.items()
    }
    empty = dataset._replace(info=dataset.info.model_copy(update={"sources": sources}))
    with pytest.raises(UserError, match="no training record"):
        plan_dataset(empty, config=InputConfig(), frames_per_step=4, steps=10)


@pytest.mark.slow
@hypothesis.given(LENGTHS, strategies.floats(0, 100), strategies.floats(0, 1), strategies.integers(1, 10_000))
def test_no_other_number_of_shapes_would_take_a_run_less_time(
    frames: list[int], compile_s: float, frames_s: float, steps: int
) -> None:
    costs = {"compile_s": compile_s, "step_s_per_1000_frames": frames_s}
    plan, _ = planned(frames, steps=steps, costs=costs)
    most = max(choice.shapes for choice in plan.choices)
    for shapes in range(1, most + 1):
        other, _ = planned(frames, steps=steps, costs=costs, buckets=shapes)
        spent_s = len(other.buckets) * compile_s + plan.epochs * other.bucket_plan.padding_cost / 1000 * frames_s
        assert cheapest_option(plan.choices).total_s <= spent_s + 1e-6
    assert len(plan.buckets) == cheapest_option(plan.choices).shapes


def test_a_longer_run_affords_more_shapes() -> None:
    frames = np.random.default_rng(1).integers(50, 800, 2_000).tolist()
    runs = (10, 500_000, 5_000_000, 25_000_000)
    shapes = [len(planned(frames, steps=steps)[0].buckets) for steps in runs]
    assert shapes[0] == 1
    assert shapes == sorted(set(shapes))


def test_the_choice_is_told_with_its_neighbours() -> None:
    frames = np.random.default_rng(1).integers(50, 800, 2_000).tolist()
    plan, _ = planned(frames, steps=200_000)
    chosen = len(plan.buckets)
    by_shapes = {choice.shapes: choice for choice in plan.choices}
    for near in (chosen - 1, chosen + 1):
        assert f"{near}: {by_shapes[near].total_s - by_shapes[chosen].total_s:,.0f} s more" in plan.explanation
    assert plan.explanation in plan.lines(config=InputConfig(), steps=200_000)
    assert plan.explanation not in plan.lines(config=InputConfig(buckets=4), steps=200_000)


def test_a_run_that_became_longer_is_told_what_more_shapes_would_save() -> None:
    frames = np.random.default_rng(1).integers(50, 800, 2_000).tolist()
    short, long = (planned(frames, steps=steps)[0] for steps in (10, 1_000_000))
    by_shapes = {choice.shapes: choice for choice in long.choices}
    (line,) = (one for one in short.lines(config=InputConfig(), steps=1_000_000) if one.startswith("that was for 10"))
    saved_s = by_shapes[1].total_s - by_shapes[len(long.buckets)].total_s
    assert f"1,000,000 take {saved_s:,.0f} s less with {len(long.buckets)}: " in line
    assert f"input.buckets={len(long.buckets)} takes them" in line
    assert len(long.lines(config=InputConfig(), steps=1_000_000)) == len(short.lines(config=InputConfig(), steps=10))
    assert not any("that was for" in one for one in short.lines(config=InputConfig(buckets=1), steps=1_000_000))


def test_of_choices_that_cost_the_same_the_one_with_fewer_shapes_is_taken() -> None:
    assert (
        cheapest_option((BucketCountOption(1, 0.2, 0.0, 0.0, 0.0), BucketCountOption(2, 0.1, 0.0, 0.0, 0.0))).shapes
        == 1
    )


@pytest.mark.slow
def test_a_million_records_are_planned_in_seconds() -> None:
    random = np.random.default_rng(1)
    duration_s = np.clip(random.gamma(2.0, 2.5, 1_000_000) + 0.5, 0.5, 30.0)
    _, rows = planned([100])
    one = rows["train"]
    frames = (duration_s * 100).astype(np.int64)
    million = ManifestRows(
        *(frames, np.clip((duration_s * random.normal(4.5, 1.2, len(frames))).astype(np.int64), 2, 400)),
        duration_s,
        *(column._replace(codes=np.zeros(len(frames), np.int32)) for column in (one.language, one.source, one.speaker)),
        one.utterance_id,
    )
    dataset: Any = SimpleNamespace(info=SimpleNamespace(sources={"x": SimpleNamespace(weight=1.0)}))
    rows = {"train": million, "validation": one}
    started_s = time.process_time()
    plan = plan_rows(rows, dataset=dataset, config=InputConfig(buckets=28), frames_per_step=4, steps=200_000)
    assert time.process_time() - started_s < 10
    assert plan.bucket_plan.padding < 0.06
    assert plan.bucket_plan.coarseness
    for smaller, larger in itertools.pairwise(plan.buckets):
        assert smaller.frames <= larger.frames


def test_no_more_clips_judge_than_asked_for_and_clips_too_long_are_none_of_them() -> None:
    lengths = [100, 900, 200, 110, 120]
    plan, _ = planned([100, 200], validation=lengths, max_frames=300, validation_clips=2)
    assert plan.rates["validation"].tolist() == [1, 0, 1, 0, 0]
    messages = "validation uses 2 of 4 clips, a proportional share of each source (input.validation_clips)"
    assert messages in plan.lines(config=InputConfig(), steps=1000)
    for clips in (4, 5, None):
        plan, _ = planned([100, 200], validation=lengths, max_frames=300, validation_clips=clips)
        assert plan.rates["validation"].tolist() == [1, 0, 1, 1, 1]
        assert not any("input.validation_clips" in line for line in plan.lines(config=InputConfig(), steps=1000))


def test_of_each_source_its_share_judges_and_of_the_smallest_one_clip() -> None:
    names = ["a"] * 600 + ["b"] * 300 + ["c"] * 2
    rows = {"train": rows_of([("en", "a", "1")] * 9), "validation": rows_of([("en", name, "1") for name in names])}
    dataset: Any = SimpleNamespace(info=SimpleNamespace(sources={"a": SimpleNamespace(weight=1.0)}))
    config = InputConfig(validation_clips=90)
    rates = plan_rows(rows, dataset=dataset, config=config, frames_per_step=4, steps=10).rates["validation"]
    heard = [name for name, rate in zip(names, rates, strict=True) if rate]
    assert {name: heard.count(name) for name in "abc"} == {"a": 60, "b": 30, "c": 1}
    assert np.flatnonzero(rates).tolist() == [*range(60), *range(600, 630), 900]
