"""Writes README.md, croissant.json and the two files of TensorFlow Datasets beside a dataset, where they changed."""

from __future__ import annotations

import json

from pipelines.descriptions.card import MARK, card
from pipelines.descriptions.croissant import croissant
from pipelines.descriptions.licenses import read_licenses
from pipelines.descriptions.tfds import dataset_info, features
from pipelines.tables.columns import load_table
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import write_bytes
from shared.storage_path import StoragePath


def refresh_descriptions(dataset: Dataset) -> None:
    """Write all descriptions, unless they are as they would be written; a README.md of the user's own stays.

    Raises:
        UserError: a file cannot be written, a manifest cannot be read, or the dataset's config is no YAML.
    """
    info, licenses = dataset.info, read_licenses(dataset)
    columns = load_table(dataset.layout.manifest(info.shards[0].name)).column_names
    for name, content in (
        ("dataset_info.json", _to_json(dataset_info(info))),
        ("features.json", _to_json(features(info.contract))),
        ("croissant.json", _to_json(croissant(info, licenses=licenses, columns=columns))),
        ("README.md", card(info, licenses=licenses)),
    ):
        _refresh(dataset.layout.root / name, content.encode())


def _refresh(path: StoragePath, content: bytes) -> None:
    try:
        found = path.read_bytes() if path.is_file() else None
        is_of_user = path.name == "README.md" and found is not None and MARK.encode() not in found
        if found != content and not is_of_user:
            write_bytes(path, content, durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; make room or give write permission, then `make report`") from error


def _to_json(document: dict) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
