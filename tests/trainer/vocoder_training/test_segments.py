"""Segments of recordings: parts of the clips and of their mels, the same whenever and wherever a stream starts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import soundfile
import tensorflow as tf

from preprocess.mel import log_mel
from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.conftest import built
from trainer.vocoder_training.segments import SegmentStream

FRAMES, BATCH = 16, 8
SPEC_HOP = 256


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus without mels."""
    overrides = ["mel_dtype=none", "max_rejected_fraction=1"]
    return Dataset.open(built(tmp_path_factory.mktemp("recordings") / "data", overrides=overrides))


def stream(dataset: Dataset, **settings: int) -> SegmentStream:
    given = {"segment_frames": FRAMES, "segment_samples": FRAMES * SPEC_HOP, "batch_size": BATCH, "seed": 1}
    return SegmentStream(dataset, split="train", **(given | settings))


def taken(segments: SegmentStream, *, first: int = 0, steps: int) -> list[dict[str, np.ndarray]]:
    batches = segments.batches(first)
    return [{name: value.numpy() for name, value in next(batches).items()} for _ in range(steps)]


@pytest.fixture(scope="module")
def clips(recordings: Dataset) -> dict[str, np.ndarray]:
    table = recordings.manifest("train").to_pylist()
    return {row["utterance_id"]: soundfile.read(row["audio_path"], dtype="float32")[0] for row in table}


@pytest.mark.slow
def test_a_segment_is_a_part_of_a_clip_with_that_part_of_its_mel(
    recordings: Dataset, clips: dict[str, np.ndarray]
) -> None:
    """By brute force: the samples are searched for in all clips, at every frame."""
    spec = recordings.info.contract.features
    (batch,) = taken(stream(recordings), steps=1)
    assert batch["mel"].shape == (BATCH, FRAMES, spec.n_mels)
    for mel, samples in zip(batch["mel"], batch["samples"], strict=True):
        found = [
            (name, start)
            for name, clip in clips.items()
            for start in range(spec.num_frames(len(clip)) - FRAMES + 1)
            if np.array_equal(clip[start * SPEC_HOP : start * SPEC_HOP + len(samples)], samples)
        ]
        ((name, start),) = found
        np.testing.assert_allclose(mel, log_mel(clips[name], spec=spec)[start : start + FRAMES], atol=1e-4)


@pytest.mark.slow
def test_a_stream_that_starts_at_a_later_step_continues_as_an_uninterrupted_one(recordings: Dataset) -> None:
    whole = taken(stream(recordings), steps=20)
    for first in (1, 7, 19):
        for one, other in zip(taken(stream(recordings), first=first, steps=20 - first), whole[first:], strict=True):
            for name in ("mel", "samples"):
                np.testing.assert_array_equal(one[name], other[name])


def test_every_epoch_takes_every_clip_once_in_an_order_of_its_own(recordings: Dataset) -> None:
    segments = stream(recordings)
    steps = -(-2 * segments.clips // BATCH)
    order = np.concatenate([segments._clips_of(np.int64(step)).numpy() for step in range(steps)])
    first, second = order[: segments.clips], order[segments.clips : 2 * segments.clips]
    assert Counter(first) == Counter(second) == Counter(range(segments.clips))
    assert not np.array_equal(first, second)


@pytest.mark.slow
def test_another_seed_takes_other_segments_and_has_another_fingerprint(recordings: Dataset) -> None:
    one, other = stream(recordings), stream(recordings, seed=2)
    assert one.fingerprint == stream(recordings).fingerprint != other.fingerprint
    assert not np.array_equal(taken(one, steps=1)[0]["samples"], taken(other, steps=1)[0]["samples"])


def test_data_that_a_vocoder_cannot_be_trained_on_are_one_line(recordings: Dataset, dataset: Dataset) -> None:
    with pytest.raises(UserError, match=r"stores mels; a vocoder is trained on recordings, so build .* mel_dtype=none"):
        stream(dataset)
    with pytest.raises(UserError, match="0 clips of the split train have 100000 frames or more, and a batch takes 8"):
        stream(recordings, segment_frames=100_000)


@pytest.mark.slow
def test_a_recording_that_is_gone_or_was_replaced_is_named(recordings: Dataset, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "other.wav", np.zeros(100), 22_050)
    for name, message in (
        ("gone.wav", r"gone\.wav: the recording of .* cannot be read .*; put the file back"),
        ("other.wav", r"the recording of .* has another number of samples.*; put the file back"),
    ):
        segments = stream(recordings)
        paths = [str(tmp_path / name)] * segments.clips
        segments._paths = tf.constant(paths)
        segments._records = segments._records._replace(audio_path=pa.chunked_array([paths]))
        with pytest.raises(UserError, match=message):
            taken(segments, steps=1)
