"""TensorFlow Datasets opens a dataset as it was built, and reads what the shards hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shared.dataset import Dataset
from shared.records import MEL_DTYPES, decode
from shared.tfrecord import read_framed_records

pytestmark = pytest.mark.slow

# A process of its own: pipelines do not import TensorFlow.
READ = """
import json, sys
import numpy as np
import tensorflow_datasets as tfds
builder = tfds.builder_from_directory(sys.argv[1])
counts = {name: split.num_examples for name, split in builder.info.splits.items()}
for name in counts:
    for number, record in enumerate(builder.as_dataset(split=name, shuffle_files=False).as_numpy_iterator()):
        np.savez(f"{sys.argv[2]}/{name} {number}.npz", **record)
joined = builder.as_dataset(split="+".join(counts))
print(json.dumps([counts, len(list(joined)), builder.info.full_name, builder.info.description]))
"""


@pytest.fixture(scope="module")
def read(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[list, Path]:
    """What the other process says, and the folder with the records that it read."""
    folder = tmp_path_factory.mktemp("records")
    words = [sys.executable, "-c", READ, str(dataset.layout.root), str(folder)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1]), folder


def test_each_source_and_split_has_its_records(dataset: Dataset, read: tuple[list, Path]) -> None:
    counts, joined, name, description = read[0]
    expected: dict[str, int] = {}
    for source, info in dataset.info.sources.items():
        for shard in info.shards:
            key = f"{source}_{shard.split}"
            expected[key] = expected.get(key, 0) + shard.records
    assert counts == {name: count for name, count in expected.items() if count}
    assert joined == sum(counts.values()) > 20
    assert name == "myxtts/3.0.0"
    assert dataset.info.fingerprint in description


def test_every_record_is_that_of_the_shard(dataset: Dataset, read: tuple[list, Path]) -> None:
    spec, dtype = dataset.info.contract.features, MEL_DTYPES[dataset.info.contract.mel_dtype]
    places: dict[str, int] = {}
    for source, info in dataset.info.sources.items():
        for shard in sorted(info.shards, key=lambda shard: shard.name):
            with dataset.layout.shard(shard.name).open("rb") as file:
                for framed in read_framed_records(file):
                    split = f"{source}_{shard.split}"
                    number = places[split] = places.get(split, -1) + 1
                    found, expected = np.load(read[1] / f"{split} {number}.npz"), decode(framed.payload)
                    assert set(found) == set(expected)
                    mel = np.frombuffer(expected["mel"][0], dtype).reshape(-1, spec.n_mels)  # type: ignore[arg-type]
                    assert found["mel"].dtype == dtype
                    np.testing.assert_array_equal(found["mel"], mel)
                    np.testing.assert_array_equal(found["tokens"], expected["tokens"])
                    for name in ("frames", "language", "speaker", "text", "utterance_id"):
                        assert found[name][()] == expected[name][0]
    assert sum(count + 1 for count in places.values()) == len(list(read[1].iterdir()))
