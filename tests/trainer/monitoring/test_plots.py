"""Images of mels and alignments; expected rows are written from top to bottom."""

from __future__ import annotations

import numpy as np

from trainer.monitoring.plots import alignment_image, mel_comparison_image


def test_the_target_is_above_the_predicted_mel_low_bands_are_below_and_both_have_the_scale_of_the_target() -> None:
    target = np.array([[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]])  # two frames of three bands, the lowest first
    predicted = np.array([[4.0, 3.0, 2.0], [5.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
    assert mel_comparison_image(target, predicted).tolist() == [
        [0.5, 1.0, 0.0],
        [0.25, 0.75, 0.0],
        [0.0, 0.5, 0.0],  # the target's lowest band, and silence where it has ended
        [0.5, 0.0, 0.25],
        [0.75, 0.0, 0.25],
        [1.0, 1.0, 0.25],
    ]


def test_a_predicted_mel_that_ends_early_is_silent_from_there_on() -> None:
    target, predicted = np.array([[-2.0, 2.0], [-1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert mel_comparison_image(target, predicted).tolist() == [[1.0, 0.5], [0.0, 0.25], [0.75, 0.0], [0.5, 0.0]]


def test_an_alignment_has_the_first_token_below_the_first_step_on_the_left_and_its_greatest_weight_as_one() -> None:
    alignment = np.array([[0.75, 0.0], [0.375, 0.375], [0.1875, 0.5625]])  # three steps on two tokens
    assert alignment_image(alignment).tolist() == [[0.0, 0.5, 0.75], [1.0, 0.5, 0.25]]


def test_nothing_but_silence_and_no_attention_at_all_are_dark() -> None:
    silence = np.full([2, 3], -11.5)
    assert mel_comparison_image(silence, silence).tolist() == [[0.0, 0.0]] * 6
    assert alignment_image(np.zeros([3, 2])).tolist() == [[0.0] * 3] * 2
