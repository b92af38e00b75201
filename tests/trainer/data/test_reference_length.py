"""How much of a reference is heard: no more than a clip of training that says as much would have shown of itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.models import random_mel
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.train_config import TrainConfig
from trainer.data.reference_length import ReferenceLength
from trainer.model.reference_crop import choose_crop, loudest_part
from trainer.model.rng import RngStream


@pytest.mark.parametrize("max_frames", [None, 150])
def test_lengths_are_those_of_the_clips_that_training_hears(dataset: Dataset, max_frames: int | None) -> None:
    rows = [row for row in dataset.manifest("train").to_pylist() if max_frames is None or row["frames"] <= max_frames]
    assert 0 < len(rows) <= len(dataset.manifest("train"))
    lengths = ReferenceLength.of(dataset, max_frames=max_frames)
    assert lengths.tokens == max(row["tokens"] for row in rows)
    paces: dict[str, list[float]] = {}
    for row in rows:
        paces.setdefault(row["language"], []).append(row["frames"] / row["tokens"])
    assert lengths.frames_per_token == pytest.approx(min(np.quantile(one, 0.1) for one in paces.values()))


def test_a_fast_language_that_few_clips_are_in_has_its_due(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    languages = ["eng_Latn"] * 38 + ["spa_Latn"] * 2
    others = {"shard": ["a-train-00000-of-00001"] * 40, "speaker": [""] * 40, "duration_s": [1.0] * 40}
    names = list(map(str, range(40)))
    lengths = {"frames": [180] * 38 + [120, 121], "tokens": [10] * 40}
    table = pa.table({"language": languages, "utterance_id": names, **lengths, **others})
    monkeypatch.setattr(Dataset, "manifest", lambda *_, columns: table.select(columns))
    assert ReferenceLength.of(dataset, max_frames=None).frames_per_token == pytest.approx(12.01)


def test_a_text_without_a_token_is_no_pace(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    table = dataset.manifest("train")
    empty = table.set_column(table.column_names.index("tokens"), "tokens", pa.array([0] * len(table), pa.int32()))
    monkeypatch.setattr(Dataset, "manifest", lambda *_, columns: empty.select(columns))
    lengths = ReferenceLength.of(dataset, max_frames=None)
    assert lengths.tokens == 0
    assert np.isfinite(lengths.frames_per_token)


def test_a_manifest_that_is_damaged_is_a_line(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise pa.ArrowInvalid("far larger than dataset.json states")

    monkeypatch.setattr(Dataset, "manifest", damaged)
    with pytest.raises(UserError, match="a manifest cannot be read"):
        ReferenceLength.of(dataset, max_frames=None)


def test_references_from_other_clips_alone_are_heard_whole_however_short_the_text(dataset: Dataset) -> None:
    same, other, mixed = (
        ReferenceLength.of(dataset, max_frames=None, reference=reference) for reference in ("same", "other", "mixed")
    )
    assert mixed == same
    assert other.tokens == same.tokens
    assert other.reference_frames(1, crop_frames=256) == 256
    assert same.reference_frames(1, crop_frames=256) == 32
    settings = TrainConfig.model_validate({"input": {"reference": "other"}})
    assert RunInfo.of(settings, dataset=dataset).lengths == other
    # a run that was trained with crops of the clips themselves, too, keeps their bound
    assert other.merged_with(same) == same.merged_with(other) == same


def test_clips_that_are_their_speakers_only_ones_show_themselves(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = dataset.manifest("train")
    alone = table.set_column(
        table.column_names.index("speaker"), "speaker", pa.array([f"a/{row}" for row in range(len(table))])
    )
    monkeypatch.setattr(Dataset, "manifest", lambda *_, columns: alone.select(columns))
    same, other = (ReferenceLength.of(dataset, max_frames=None, reference=reference) for reference in ("same", "other"))
    assert same == other


def test_a_run_that_goes_on_with_other_clips_has_heard_both() -> None:
    unknown = RunInfo.model_fields["lengths"].default
    one, other = ReferenceLength(tokens=50, frames_per_token=16.0), ReferenceLength(tokens=20, frames_per_token=18.0)
    assert one.merged_with(other) == other.merged_with(one) == one
    assert other.merged_with(unknown) == other.merged_with(ReferenceLength(tokens=0, frames_per_token=0.0)) == other
    assert unknown.reference_frames(1, crop_frames=256) == 256


def test_of_clips_that_are_all_left_out_there_are_no_lengths(dataset: Dataset) -> None:
    """What else there is to say of them is said where batches are planned."""
    assert ReferenceLength.of(dataset, max_frames=1) == ReferenceLength(tokens=0, frames_per_token=0.0)


def test_nine_of_ten_clips_could_have_shown_as_much_of_themselves_as_is_heard_for_their_texts(dataset: Dataset) -> None:
    rows, lengths = dataset.manifest("train").to_pylist(), ReferenceLength.of(dataset, max_frames=None)
    heard = lengths.reference_frames([row["tokens"] for row in rows], crop_frames=256).numpy()
    could = [frames <= max(32, row["frames"] // 2) for frames, row in zip(heard, rows, strict=True)]
    assert np.mean(could) >= 0.9
    assert np.mean(heard > 32) > 0.5


@given(tokens=st.integers(1, 500), pace=st.floats(1.0, 60.0), crop_frames=st.integers(1, 400))
def test_what_is_heard_is_a_crop_of_training(tokens: int, pace: float, crop_frames: int) -> None:
    """These are of 1/8 of crop_frames at least, where the clip has twice as many."""
    heard = int(ReferenceLength(tokens=1, frames_per_token=pace).reference_frames(tokens, crop_frames=crop_frames))
    shortest = max(1, crop_frames // 8)
    assert shortest <= heard <= crop_frames
    assert heard == shortest or 2 * heard <= 1.0001 * tokens * pace


def test_each_text_of_a_batch_hears_as_much_as_goes_with_it() -> None:
    lengths = ReferenceLength(tokens=50, frames_per_token=16.0)
    assert lengths.reference_frames([3, 10, 30, 300], crop_frames=256).numpy().tolist() == [32, 64, 224, 256]


def test_training_shows_such_texts_crops_that_are_as_long_and_longer_ones() -> None:
    """Of clips a quarter slower than the pace that is reckoned with; drawn 4,000 times."""
    lengths = ReferenceLength(tokens=50, frames_per_token=16.0)
    for tokens in (5, 10, 20):
        clips, noise = np.full(4_000, tokens * 20, np.int32), RngStream(seed=1, step=tf.constant(0))
        mels = random_mel(1, tokens * 20).repeat(4_000, 0)
        drawn = choose_crop(mels, clips, crop_frames=256, dropped=0.0, noise=noise).frames.numpy()
        heard = int(lengths.reference_frames(tokens, crop_frames=256))
        assert (drawn >= heard).mean() > 0.1
        assert (drawn <= heard).mean() > 0.0


@pytest.mark.slow
@given(levels=st.lists(st.integers(-12, 0), min_size=1, max_size=40), frames=st.integers(1, 50))
def test_the_loudest_part_is_heard_and_all_of_a_shorter_clip(levels: list[int], frames: int) -> None:
    mel = np.array(levels, np.float32)[:, None].repeat(3, 1)
    most = min(frames, len(levels))
    sums = [sum(levels[start : start + most]) for start in range(len(levels) - most + 1)]
    start = sums.index(max(sums))
    np.testing.assert_array_equal(loudest_part(mel, frames=frames), mel[start : start + most])


def test_of_no_frames_none_are_heard() -> None:
    assert loudest_part(np.zeros([0, 80], np.float32), frames=32).shape == [0, 80]
