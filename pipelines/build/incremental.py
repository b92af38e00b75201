"""What an older dataset at the same place still holds: shards whose inputs are the same need no decoding."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

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


def published_shards(data: Layout, *, contract: Contract) -> dict[str, ShardInfo]:
    """The shards of a dataset of the same contract by their names; none where there is no such dataset.

    It need not have its `_SUCCESS`: what is taken from it is checked, shard by shard, by its sha256. But a
    `dataset.json` that is not the one which was published is not believed.
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


def measuring(contract: Contract, *, decode_limit_s: float) -> str:
    """All but the inputs that decides what is measured of an utterance."""
    return f"{contract.fingerprint} {decode_limit_s} {QUALITY_VERSION} {' '.join(MANIFEST.names)}"


def hash_inputs(elements: Iterable[Element], *, measuring: str) -> str:
    """32 hexadecimal digits of what a shard is made from: every reference, and its file's size, time and access."""
    digest = hashlib.blake2b(measuring.encode(), digest_size=16)
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


def is_sound(shard: ShardInfo, *, data: Layout) -> bool:
    """Whether each of the shard's files is there and can be read, byte for byte."""
    paths = data.shard_files(shard.name)
    try:
        if not all(path.is_file() for path in paths) or paths[0].stat().st_size != shard.bytes:
            return False
        return all(file_sha256(path) == wanted for path, wanted in zip(paths, shard.sha256_of_files(), strict=True))
    except OSError:  # a bad sector: it is made again
        return False


def read_rows(stem: str, *, data: Layout) -> dict[str, pa.Table]:
    """Manifest rows of a published shard by the folder that holds their records."""
    return {
        "shards": read_table(data.manifest(stem), schema=MANIFEST),
        "withheld": read_table(data.withheld_manifest(stem), schema=MANIFEST),
    }
