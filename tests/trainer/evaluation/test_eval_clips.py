"""Clips for an evaluation: always the same ones, and their mels as TensorFlow's reader finds them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.evaluation.eval_clips import choose_clips, read_mels


def test_the_same_clips_are_chosen_however_many(dataset: Dataset) -> None:
    every = choose_clips(dataset, split="train", count=None)
    assert len(every) == dataset.manifest("train").num_rows
    names = [one.utterance_id for one in choose_clips(dataset, split="train", count=20)]
    assert names[:7] == [one.utterance_id for one in choose_clips(dataset, split="train", count=7)]
    assert names != [one.utterance_id for one in choose_clips(dataset, split="train", count=20, seed=2)]


def test_a_clip_is_spoken_in_the_voice_of_its_speakers_longest_other_clip(dataset: Dataset) -> None:
    rows = dataset.manifest("train").to_pylist()
    for clip in choose_clips(dataset, split="train", count=None):
        others = [row for row in rows if row["speaker"] == clip.speaker and row["utterance_id"] != clip.utterance_id]
        if not others:
            assert clip.reference is None
        else:
            assert clip.reference is not None
            assert clip.reference["utterance_id"] != clip.utterance_id
            assert clip.reference["frames"] == max(row["frames"] for row in others)


def test_mels_are_those_that_tensorflow_reads(dataset: Dataset) -> None:
    clips = choose_clips(dataset, split="train", count=5)
    paths = [str(dataset.layout.shard(shard.name)) for shard in dataset.info.shards_of("train")]
    stored = {}
    for raw in tf.data.TFRecordDataset(paths):
        features = tf.train.Example.FromString(raw.numpy()).features.feature
        mel = tf.io.decode_raw(features["mel"].bytes_list.value[0], dataset.info.contract.mel_dtype)
        name = features["utterance_id"].bytes_list.value[0].decode()
        stored[name] = tf.reshape(mel, [features["frames"].int64_list.value[0], -1]).numpy().astype(np.float32)
    for clip, mel in zip(clips, read_mels(dataset, [one.row for one in clips]), strict=True):
        np.testing.assert_array_equal(mel, stored[clip.utterance_id])


def test_a_damaged_record_and_an_unknown_split_are_one_line(dataset: Dataset) -> None:
    with pytest.raises(UserError, match="no clip in the split 'test'; expected train or validation"):
        choose_clips(dataset, split="test", count=1)
    (clip,) = choose_clips(dataset, split="train", count=1)
    with pytest.raises(UserError, match="`make validate` tells what is damaged"):
        list(read_mels(dataset, [{**clip.row, "offset_bytes": clip.row["offset_bytes"] + 1}]))
    info = dataset.info.model_copy(update={"contract": dataset.info.contract.model_copy(update={"mel_dtype": "none"})})
    with pytest.raises(UserError, match=r"it stores no mels \(mel_dtype: none\)"):
        choose_clips(dataset._replace(info=info), split="train", count=1)
