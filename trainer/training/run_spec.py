"""The specification of a run that all hosts must share, broadcast from the chief before training."""

from __future__ import annotations

import hashlib
from typing import Any

import pydantic
import tensorflow as tf

from shared.dataset import Dataset, Sha256, contract_differences
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.distributed.collectives import Hosts


class RunSpec(pydantic.BaseModel):
    """What must be equal on all hosts: the version of TensorFlow, the dataset and the config."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    tensorflow: str
    dataset_sha256: Sha256  # of the dataset description, which has the checksums of all shards
    info: RunInfo

    @classmethod
    def of(cls, info: RunInfo, *, dataset: Dataset) -> RunSpec:
        """Return the specification of this host."""
        digest = hashlib.sha256(dataset.info.model_dump_json().encode()).hexdigest()
        return cls(tensorflow=tf.__version__, dataset_sha256=digest, info=info)


def agree_on_run(hosts: Hosts, own: RunSpec) -> RunInfo:
    """Compare this host's specification with the chief's, and return the chief's run description.

    Raises:
        UserError: the specifications differ.
    """
    received = hosts.broadcast_bytes(own.model_dump_json().encode())
    if hosts.is_chief:
        return own.info
    try:
        chief = RunSpec.model_validate_json(received)
    except pydantic.ValidationError as error:
        raise UserError(
            f"{hosts}: the chief runs another version of this program; install the same version on all hosts"
        ) from error
    difference = _find_difference(own, chief)
    if difference:
        raise UserError(f"{hosts}: {difference}; start the same command, on the same data, on all hosts")
    return chief.info


def _find_difference(own: RunSpec, chief: RunSpec) -> str | None:
    """Describe the first difference; reduced buckets are not compared, since only the chief reads the run's folder."""
    if own.tensorflow != chief.tensorflow:
        return f"TensorFlow is {own.tensorflow} here and {chief.tensorflow} on the chief"
    for key, (here, there) in contract_differences(own.info.contract, chief.info.contract).items():
        return f"the dataset's {key} is {here} here and {there} on the chief"
    if own.dataset_sha256 != chief.dataset_sha256:
        return "the dataset has the chief's contract, but dataset.json or its shards differ"
    settings = _flatten_settings(own.info), _flatten_settings(chief.info)
    names = [name for name in sorted(settings[0] | settings[1]) if settings[0].get(name) != settings[1].get(name)]
    if names:
        here, there = (one.get(names[0]) for one in settings)
        return (
            f"config differs from the chief's in {', '.join(names)} ({names[0]} is {here} here, {there} on the chief)"
        )
    return None


def _flatten_settings(info: RunInfo) -> dict[str, Any]:
    """Return each setting under its dotted name."""

    def flat(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            return {name: value}
        return {key: one for part in value for key, one in flat(value[part], f"{name}.{part}".lstrip(".")).items()}

    return flat(info.config.model_dump(mode="json"), "")
