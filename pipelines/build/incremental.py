"""Reuse of a published dataset: a shard whose inputs have not changed is not decoded again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from pipelines.build.shard_plan import Element
from preprocess.quality import QUALITY_VERSION
from preprocess.utterance import Utterance
from shared.dataset import Contract, ShardInfo, read_info
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.publication import read_checksums
from shared.tables import MANIFEST, read_table


class ReusePolicy(NamedTuple):
    """The published shards that a job reuses, by name; all others are made from the corpora."""

    if_unchanged: dict[str, ShardInfo]  # reused if the inputs and the files have not changed
    always: dict[str, str | None]  # name -> hash of the inputs; None: hash the inputs of today


def published_shards(data: Layout, *, contract: Contract) -> dict[str, ShardInfo]:
    """The shards of the published dataset by name; none without a dataset or with another contract.

    The dataset may lack its `_SUCCESS`, because each shard that is reused is checked by its sha256. A `dataset.json`
    that does not match its own sum in `_SUCCESS` is not used.
    """
    stated = read_checksums(data.success).get(data.info.name)
    try:
        info = read_info(data.info)
        if stated is not None and file_sha256(data.info) != stated:
            return {}
    except (UserError, OSError):
        return {}
    same = info.fingerprint == contract.fingerprint
    return {shard.name: shard for shard in info.shards} if same else {}


def preparation_fingerprint(contract: Contract, *, decode_limit_s: float) -> str:
    """Everything but the inputs that determines the prepared rows of a shard."""
    return f"{contract.fingerprint} {decode_limit_s} {QUALITY_VERSION} {' '.join(MANIFEST.names)}"


def hash_inputs(elements: Iterable[Element], *, fingerprint: str) -> str:
    """blake2b of a shard's inputs: each utterance and rejection, and each audio file's size, time and access.

    Returns:
        32 hexadecimal digits.
    """
    digest = hashlib.blake2b(fingerprint.encode(), digest_size=16)
    for element in elements:
        digest.update(repr(element).encode(errors="backslashreplace"))
        if isinstance(element, Utterance):
            digest.update(_file_state(element.audio_path).encode())
    return digest.hexdigest()


def _file_state(path: str) -> str:
    try:
        state = Path(path).stat()
    except (OSError, ValueError) as error:  # ValueError: a path that can be no file's
        return type(error).__name__
    return f"{state.st_size} {state.st_mtime_ns} {os.access(path, os.R_OK)}"  # chmod leaves a file's time as it is


def is_intact(shard: ShardInfo, *, data: Layout) -> bool:
    """Whether each file of a published shard exists and has the sha256 that dataset.json states."""
    paths = data.shard_files(shard.name)
    try:
        if not all(path.is_file() for path in paths) or paths[0].stat().st_size != shard.bytes:
            return False
        return all(file_sha256(path) == stated for path, stated in zip(paths, shard.sha256_of_files(), strict=True))
    except OSError:  # a bad sector: the shard is made again
        return False


def read_manifest_rows(shard_name: str, *, data: Layout) -> dict[str, pa.Table]:
    """Manifest rows of a published shard by the folder of their records: `shards` and `withheld`."""
    return {
        "shards": read_table(data.manifest(shard_name), schema=MANIFEST),
        "withheld": read_table(data.withheld_manifest(shard_name), schema=MANIFEST),
    }
