"""The conditioning crop, against a copy frame by frame."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.trainer.models import M, random_mel
from trainer.conditioning import choose_crop
from trainer.model.noise import Noise

FRAMES = [40, 39, 17, 3, 2, 1, 0]
F = 40


@pytest.mark.parametrize("crop_frames", [8, 15, 64])
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_the_crop_is_a_piece_of_the_clip_and_heard_marks_exactly_it(crop_frames: int, seed: int | None) -> None:
    mel = random_mel(len(FRAMES), F)
    noise = None if seed is None else Noise(seed=seed, step=tf.constant(seed))
    crop = choose_crop(tf.constant(mel), tf.constant(FRAMES), crop_frames=crop_frames, dropped=0.0, noise=noise)
    for row, frames in enumerate(FRAMES):
        length = int(crop.frames[row])
        heard = np.flatnonzero(crop.heard[row])
        assert length == len(heard) == min(frames // 2, crop_frames)
        assert (crop.mel[row, length:].numpy() == 0).all()
        if length:
            assert heard.max() - heard.min() == length - 1
            assert heard.max() < frames
            np.testing.assert_array_equal(crop.mel[row, :length], mel[row, heard])
    assert crop.mel.shape == (len(FRAMES), min(crop_frames, F), M)


def test_without_noise_the_crop_is_the_beginning() -> None:
    crop = choose_crop(tf.constant(random_mel(1, F)), tf.constant([F]), crop_frames=8, dropped=0.0, noise=None)
    assert np.flatnonzero(crop.heard[0]).tolist() == list(range(8))


def test_every_place_of_the_clip_is_chosen_about_equally_often() -> None:
    clips = 4000
    mel = tf.zeros([clips, 12, 1])
    crop = choose_crop(mel, tf.fill([clips], 12), crop_frames=4, dropped=0.0, noise=Noise(seed=1, step=tf.constant(1)))
    starts = np.bincount(np.argmax(crop.heard.numpy(), axis=1), minlength=9)
    assert len(starts) == 9
    assert np.abs(starts - clips / 9).max() < 5 * np.sqrt(clips / 9)


def test_its_share_of_clips_gets_no_crop_and_hears_nothing() -> None:
    clips = 4000
    mel = tf.ones([clips, 12, 1])
    crop, kept = (
        choose_crop(mel, tf.fill([clips], 12), crop_frames=4, dropped=0.2, noise=noise)
        for noise in (Noise(seed=1, step=tf.constant(1)), None)
    )
    without = crop.frames.numpy() == 0
    assert np.mean(without) == pytest.approx(0.2, abs=5 * np.sqrt(0.2 * 0.8 / clips))
    assert not crop.heard.numpy()[without].any()
    assert (crop.mel.numpy()[without] == 0).all()
    assert (crop.heard.numpy()[~without].sum(axis=1) == 4).all()
    assert (kept.frames.numpy() == 4).all()
