"""The records that `Dataset` reads are those that TensorFlow reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.layout import TRAINING_SPLITS
from shared.records import decode_record
from tests.trainer.conftest import spoil_record

FIELDS = {
    **{name: tf.io.FixedLenFeature([], tf.int64) for name in ("frames", "language", "speaker")},
    **{name: tf.io.FixedLenFeature([], tf.string) for name in ("mel", "text", "utterance_id")},
    "tokens": tf.io.RaggedFeature(tf.int64),
}


@pytest.mark.parametrize("split", TRAINING_SPLITS)
def test_records_come_in_the_order_of_the_manifest(dataset: Dataset, split: str) -> None:
    paths = [str(dataset.layout.shard(shard.name)) for shard in dataset.info.shards_of(split)]
    expected = [tf.io.parse_single_example(one, FIELDS) for one in tf.data.TFRecordDataset(paths)]
    found = list(dataset.records(split))
    assert [one.utterance_id for one in found] == dataset.manifest(split)["utterance_id"].to_pylist()
    for record, parsed in zip(found, expected, strict=True):
        assert record.utterance_id == parsed["utterance_id"].numpy().decode()
        assert record.text == parsed["text"].numpy().decode()
        for name in ("frames", "language", "speaker"):
            assert getattr(record, name) == int(parsed[name])
        assert list(record.tokens) == parsed["tokens"].numpy().tolist()
        np.testing.assert_array_equal(record.mel.ravel(), np.frombuffer(parsed["mel"].numpy(), np.float16))
        assert record.mel.shape == (record.frames, dataset.info.contract.features.n_mels)


def test_a_record_is_found_by_its_id(dataset: Dataset) -> None:
    for expected in [*dataset.records("validation"), *dataset.records("train")][::7]:
        found = dataset.record(expected.utterance_id)
        assert found.text == expected.text
        np.testing.assert_array_equal(found.mel, expected.mel)


def test_an_unknown_id_and_an_unknown_split_are_named(dataset: Dataset) -> None:
    with pytest.raises(UserError, match="no record of 'english/none'"):
        dataset.record("english/none")
    with pytest.raises(UserError, match="no split 'dev'; expected train or validation or test"):
        next(dataset.records("dev"))


@pytest.mark.parametrize(
    ("name", "value"), [("text", 3), ("frames", b"x"), ("tokens", b"x"), ("mel", b"abc"), ("speaker", None)]
)
def test_a_record_with_other_fields_is_refused(name: str, value: bytes | int | None) -> None:
    values: dict[str, bytes | int | None] = dict.fromkeys(("frames", "language", "speaker", "tokens"), 1)
    values |= {"mel": bytes(8), "text": b"a", "utterance_id": b"a/b"} | {name: value}
    feature = {
        key: tf.train.Feature(bytes_list=tf.train.BytesList(value=[one]))
        if isinstance(one, bytes)
        else tf.train.Feature(int64_list=tf.train.Int64List(value=[one]))
        for key, one in values.items()
        if one is not None
    }
    payload = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    with pytest.raises(ValueError, match=r"record|buffer|reshape"):
        decode_record(payload, mel_dtype="float16", n_mels=4)


def test_a_damaged_record_is_refused(data: Path, tmp_path: Path) -> None:
    spoil_record(data, to=tmp_path / "data")
    with pytest.raises(ValueError, match="checksum"):
        list(Dataset.open(tmp_path / "data").records("train"))
