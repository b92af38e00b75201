"""The conditioning crop, against a copy frame by frame."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from shared.features import PRESETS
from tests.trainer.models import M, random_mel
from trainer.config.model_config import ModelConfig
from trainer.model.reference_crop import SHARED_FRAMES, Crop, choose_crop
from trainer.model.rng import RngStream
from trainer.training.train_step import prepare_inputs

FRAMES = [40, 39, 17, 3, 2, 1, 0]
F = 40


def chosen(frames: list[int], *, crop_frames: int, seed: int | None, size: int = F, trains: bool = True) -> Crop:
    noise = None if seed is None else RngStream(seed=seed, step=tf.constant(seed), trains=trains)
    mel = tf.constant(random_mel(len(frames), size))
    return choose_crop(mel, tf.constant(frames), crop_frames=crop_frames, dropped=0.0, noise=noise)


@pytest.mark.parametrize("crop_frames", [8, 15, 64])
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_the_crop_is_a_piece_of_the_clip_and_heard_marks_it_and_what_shares_samples_with_it(
    crop_frames: int, seed: int | None
) -> None:
    mel, crop = random_mel(len(FRAMES), F), chosen(FRAMES, crop_frames=crop_frames, seed=seed)
    for row, frames in enumerate(FRAMES):
        length, longest = int(crop.frames[row]), min(frames // 2, crop_frames)
        assert length == longest if seed is None else min(longest, crop_frames // 8) <= length <= longest
        assert (crop.mel[row, length:].numpy() == 0).all()
        if length:
            pieces = np.lib.stride_tricks.sliding_window_view(mel[row, :frames], length, axis=0)
            (start,) = np.flatnonzero((np.moveaxis(pieces, -1, 1) == crop.mel[row, :length].numpy()).all((1, 2)))
            near = [place for place in range(frames) if start - 3 <= place < start + length + 3]
            assert np.flatnonzero(crop.reference_mask[row]).tolist() == near
        else:
            assert not crop.reference_mask[row].numpy().any()
    assert crop.mel.shape == (len(FRAMES), min(crop_frames, F), M)


@pytest.mark.parametrize("name", PRESETS)
def test_no_frame_further_away_has_a_sample_in_common_with_the_crop(name: str) -> None:
    spec = PRESETS[name]
    assert SHARED_FRAMES * spec.hop_samples < spec.n_fft <= (SHARED_FRAMES + 1) * spec.hop_samples


def test_without_noise_the_crop_is_the_beginning() -> None:
    crop = chosen([F], crop_frames=8, seed=None)
    assert np.flatnonzero(crop.reference_mask[0]).tolist() == list(range(8 + 3))


def test_the_length_of_a_crop_says_nothing_of_that_of_its_clip_beyond_its_half() -> None:
    short, long = (chosen([frames] * 4000, crop_frames=8, seed=1, size=64).frames.numpy() for frames in (16, 64))
    for lengths in (short, long):
        counts = np.bincount(lengths, minlength=9)
        assert counts[0] == 0
        assert np.abs(counts[1:] - 500).max() < 5 * np.sqrt(500)


def test_every_place_of_the_clip_is_chosen_about_equally_often() -> None:
    clips = 4000
    crop = chosen([12] * clips, crop_frames=1, seed=1, size=12)
    ends = np.bincount(12 - np.argmax(crop.reference_mask.numpy()[:, ::-1], axis=1), minlength=13)
    # ends three frames after the crop, where there are so many
    assert np.abs(ends[4:12] - clips / 12).max() < 5 * np.sqrt(clips / 12)
    assert ends[12] == pytest.approx(4 * clips / 12, abs=5 * np.sqrt(clips / 3))


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_so_many_clips_are_trained_without_a_reference_as_the_model_is_told(share: float) -> None:
    clips = 4000
    batch = {
        "mel": tf.ones([clips, 12, 1]),
        "frames": tf.fill([clips], 12),
        "tokens": tf.ones([clips, 1], tf.int32),
        "token_counts": tf.ones([clips], tf.int32),
    }
    config = ModelConfig(size="pico", crop_frames=8, reference_dropout=share)
    inputs = prepare_inputs(SimpleNamespace(config=config), batch, noise=RngStream(seed=1, step=tf.constant(1)))  # type: ignore[arg-type]
    found = np.mean(inputs.crop.frames.numpy() == 0)
    assert found == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / clips))


def test_a_part_of_another_clip_replaces_the_own_crop_unless_the_reference_is_dropped() -> None:
    clips, frames = 400, 12
    batch = {
        "mel": tf.ones([clips, frames, 1]),
        "frames": tf.fill([clips], frames),
        "tokens": tf.ones([clips, 1], tf.int32),
        "token_counts": tf.ones([clips], tf.int32),
        "reference": 2.0 * tf.ones([clips, 16, 1]) * tf.sequence_mask([5, 0] * (clips // 2), 16, tf.float32)[..., None],
        "reference_frames": tf.constant([5, 0] * (clips // 2)),
    }
    config = ModelConfig(size="pico", crop_frames=16, reference_dropout=0.2)
    inputs = prepare_inputs(SimpleNamespace(config=config), batch, noise=RngStream(seed=1, step=tf.constant(1)))  # type: ignore[arg-type]
    lengths, mask, mels = (
        inputs.crop.frames.numpy(),
        inputs.crop.reference_mask.numpy(),
        inputs.crop.mel.numpy()[..., 0],
    )
    assert mels.shape == (clips, 16)
    dropped = lengths == 0
    assert 0.1 < np.mean(dropped[::2]) < 0.3
    assert not mels[dropped].any()
    heard_other, heard_own = np.arange(clips) % 2 == 0, np.arange(clips) % 2 == 1
    assert set(lengths[heard_other & ~dropped]) == {5}
    assert (mels[heard_other & ~dropped][:, :5] == 2.0).all()
    assert not mels[heard_other & ~dropped][:, 5:].any()
    assert not mask[heard_other].any()
    assert (mels[heard_own & ~dropped][:, 0] == 1.0).all()
    assert mask[heard_own & ~dropped].any(axis=1).all()


def test_a_tenth_is_trained_without_a_reference_where_nothing_else_is_said() -> None:
    assert ModelConfig().reference_dropout == 0.1


def test_its_share_of_clips_gets_no_crop_and_hears_nothing() -> None:
    clips = 4000
    mel = tf.ones([clips, 12, 1])
    crop, kept = (
        choose_crop(mel, tf.fill([clips], 12), crop_frames=4, dropped=0.2, noise=noise)
        for noise in (RngStream(seed=1, step=tf.constant(1), trains=trains) for trains in (True, False))
    )
    without = crop.frames.numpy() == 0
    assert np.mean(without) == pytest.approx(0.2, abs=5 * np.sqrt(0.2 * 0.8 / clips))
    assert not crop.reference_mask.numpy()[without].any()
    assert (crop.mel.numpy()[without] == 0).all()
    assert (crop.frames.numpy()[~without] > 0).all()
    assert (kept.frames.numpy() > 0).all()
