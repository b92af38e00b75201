"""`DATA/dataset_info.json` and `DATA/features.json`: what `tfds.builder_from_directory(DATA)` reads.

Each source and split of the dataset is a split of TensorFlow Datasets, such as `ljspeech_train`. The form of both files
is that of TensorFlow Datasets 4.9 (dataset_info.proto, feature.proto as JSON).
"""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.descriptions.totals import token_ids
from shared.dataset import SCHEMA_VERSION, Contract, DatasetInfo, ShardInfo
from shared.layout import SPLITS
from shared.records import (
    FRAME_VALUE_DTYPE,
    FRAME_VALUES,
    MEL_DTYPES,
    NUM_MOMENTS,
    WAVEFORM,
    WAVEFORM_DTYPES,
    Field,
)

NAME = "myxtts"
_CORE = "tensorflow_datasets.core.features"


def dataset_info(info: DatasetInfo) -> dict:
    """The splits with the number of records of each shard."""
    features_name, tokens = info.contract.features.name, token_ids(info.contract)
    return {
        "name": NAME,
        "version": f"{SCHEMA_VERSION}.0.0",
        "fileFormat": "tfrecord",
        "description": f"Mels ({features_name}, ln magnitude) and {tokens}; contract {info.fingerprint}.",
        "splits": list(_splits(info)),
    }


def _splits(info: DatasetInfo) -> Iterator[dict]:
    for name, source in sorted(info.sources.items()):
        for split in SPLITS:
            shards = sorted((one for one in source.shards if one.split == split), key=lambda one: one.name)
            if any(one.records for one in shards):
                yield _split(f"{name}_{split}", shards, prefix=f"{name}-{split}")


def _split(name: str, shards: list[ShardInfo], *, prefix: str) -> dict:
    return {
        "name": name,
        "shardLengths": [str(one.records) for one in shards],  # 64-bit integers are strings in protobuf's JSON
        "numBytes": str(sum(one.bytes for one in shards)),
        "filepathTemplate": f"shards/{prefix}-{{SHARD_X_OF_Y}}.{{FILEFORMAT}}",
    }


def features(contract: Contract) -> dict:
    """The fields of a record, with dtype and shape; -1 is a length that differs between records."""
    return {
        "pythonClassName": f"{_CORE}.features_dict.FeaturesDict",
        "featuresDict": {"features": {field.name: _feature(field, contract) for field in contract.record_fields}},
    }


def _feature(field: Field, contract: Contract) -> dict:
    if field.name == "mel":
        rows = "-1" if contract.stores_mels else str(NUM_MOMENTS)
        dtype = MEL_DTYPES[contract.mel_dtype].name
        return _tensor(dtype, [rows, str(contract.features.n_mels)], encoding="bytes")
    if field in FRAME_VALUES:
        return _tensor(FRAME_VALUE_DTYPE.name, ["-1"], encoding="bytes")
    if field.name == WAVEFORM.name:
        return _tensor(WAVEFORM_DTYPES[contract.waveform_dtype].name, ["-1"], encoding="bytes")
    if field.kind == "bytes":
        return {"pythonClassName": f"{_CORE}.text_feature.Text", "text": {}}
    return _tensor("int64", ["-1"] if field.kind == "int64 list" else [], encoding="none")


def _tensor(dtype: str, dimensions: list[str], *, encoding: str) -> dict:
    shape = {"dimensions": dimensions} if dimensions else {}
    tensor = {"dtype": dtype, "encoding": encoding, "shape": shape}
    return {"pythonClassName": f"{_CORE}.tensor_feature.Tensor", "tensor": tensor}
