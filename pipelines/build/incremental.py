"""Reuse of a published dataset by a build, a repair or a replay."""

from __future__ import annotations

from typing import NamedTuple

from preprocess.quality import QUALITY_VERSION
from shared.dataset import Contract, DatasetInfo, ShardInfo, read_info
from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.publication import read_checksums
from shared.tables import MANIFEST


class ReusePolicy(NamedTuple):
    """What a job takes from the published dataset; everything else is made from the corpora."""

    take_over: dict[str, ShardInfo]  # shards whose utterances are taken over if their inputs have not changed
    always: dict[str, str | None]  # shards that stay as they are, with the hash of their inputs; None: that of today


def published_info(data: Layout, *, contract: Contract) -> DatasetInfo | None:
    """The published dataset; None without one, or with another contract.

    The dataset may lack its `_SUCCESS`, because each shard that is reused is checked. A `dataset.json` that does not
    match its own sum in `_SUCCESS` is not used.
    """
    stated = read_checksums(data.success).get(data.info.name)
    try:
        info = read_info(data.info)
        if stated is not None and file_sha256(data.info) != stated:
            return None
    except (UserError, OSError):
        return None
    return info if info.fingerprint == contract.fingerprint else None


def preparation_fingerprint(contract: Contract, *, decode_limit_s: float) -> str:
    """Everything but the inputs that determines the prepared rows of a shard."""
    names = [name for name in MANIFEST.names if name != "custom"]  # which comes from the metadata
    return f"{contract.fingerprint} {decode_limit_s} {QUALITY_VERSION} {' '.join(names)}"
