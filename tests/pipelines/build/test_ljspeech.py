"""A build of LJSpeech's first clips, compared with TensorFlow's reader and HiFi-GAN's own mels."""

from __future__ import annotations

import collections
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tokenizers

from preprocess.text import prepare_text

pytestmark = pytest.mark.slow

ENGLISH_ID = 256047


@pytest.fixture(scope="module")
def records(ljspeech: Path) -> dict[str, list[dict[str, np.ndarray]]]:
    """The records of the shards, read and parsed by TensorFlow, by split."""
    tf = pytest.importorskip("tensorflow")
    schema = {name: tf.io.FixedLenFeature([], tf.int64) for name in ("frames", "language", "speaker")}
    schema |= {name: tf.io.FixedLenFeature([], tf.string) for name in ("mel", "text", "utterance_id")}
    schema["tokens"] = tf.io.RaggedFeature(tf.int64)
    found = collections.defaultdict(list)
    for path in sorted((ljspeech / "shards").iterdir()):
        for serialised in tf.data.TFRecordDataset(str(path)):
            parsed = tf.io.parse_single_example(serialised, schema)
            found[path.name.split("-")[1]].append({name: value.numpy() for name, value in parsed.items()})
    return dict(found)


@pytest.fixture(scope="module")
def by_id(records: dict[str, list[dict[str, np.ndarray]]]) -> dict[str, dict[str, np.ndarray]]:
    return {one["utterance_id"].decode(): one for split in records.values() for one in split}


@pytest.fixture(scope="module")
def metadata(reference: Path) -> dict[str, str]:
    """Normalised text by utterance id."""
    lines = (reference / "corpora/LJSpeech-1.1/metadata.csv").read_text(encoding="utf-8").splitlines()
    return {f"ljspeech/{line.split('|')[0]}": line.split("|")[2] for line in lines}


def test_each_clip_is_in_exactly_one_split(records: dict, by_id: dict, metadata: dict) -> None:
    assert set(records) == {"train", "validation"}
    assert sum(map(len, records.values())) == len(by_id) == 32
    assert by_id.keys() == metadata.keys()


@pytest.mark.parametrize("clip", ["LJ001-0001", "LJ001-0002", "LJ001-0008", "LJ001-0016"])
def test_the_stored_mel_equals_hifigans(clip: str, by_id: dict, reference: Path) -> None:
    golden = np.load(reference / f"golden/mel_hifigan_22k/{clip}.npz")["log_mel"]
    record = by_id[f"ljspeech/{clip}"]
    mel = np.frombuffer(record["mel"], "<f2").reshape(record["frames"], 80)
    assert mel.shape == golden.shape
    np.testing.assert_allclose(mel.astype(np.float32), golden, atol=0.005, rtol=0)


def test_the_number_of_frames_is_samples_divided_by_the_hop(by_id: dict, reference: Path) -> None:
    for utterance_id, record in by_id.items():
        path = reference / "corpora/LJSpeech-1.1/wavs" / f"{utterance_id.removeprefix('ljspeech/')}.wav"
        samples = (path.stat().st_size - 44) // 2  # 16 bits mono behind a plain header
        assert record["frames"] == samples // 256
        assert len(record["mel"]) == record["frames"] * 80 * 2


def test_tokens_equal_those_of_nllbs_tokenizer(by_id: dict, metadata: dict, reference: Path) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(reference / "nllb/tokenizer.json"))
    for utterance_id, record in by_id.items():
        text = prepare_text(metadata[utterance_id], language="eng_Latn").text
        assert record["text"].decode() == text
        pieces = tokenizer.encode(text, add_special_tokens=False).ids
        assert record["tokens"].tolist() == [ENGLISH_ID, *pieces, 2]
        assert record["language"] == ENGLISH_ID


def test_the_manifest_has_the_offset_of_each_record(ljspeech: Path, by_id: dict) -> None:
    rows = [row for path in sorted((ljspeech / "manifest").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert len(rows) == 32
    for row in rows:
        with (ljspeech / "shards" / f"{row['shard']}.tfrecord").open("rb") as file:
            file.seek(row["offset_bytes"])
            framed = file.read(row["length_bytes"])
        assert by_id[row["utterance_id"]]["mel"] in framed
        assert int.from_bytes(framed[:8], "little") == row["length_bytes"] - 16
        assert row["frames"] == by_id[row["utterance_id"]]["frames"]
        assert row["tokens"] == len(by_id[row["utterance_id"]]["tokens"])
