"""What has to be the same on all hosts of a run: the first one's goes to the others before anything is made of it."""

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
    """What a host trains, with what, on what."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    tensorflow: str
    dataset_sha256: Sha256  # of its description, which has the sums of all shards
    info: RunInfo

    @classmethod
    def of(cls, info: RunInfo, *, dataset: Dataset) -> RunSpec:
        digest = hashlib.sha256(dataset.info.model_dump_json().encode()).hexdigest()
        return cls(tensorflow=tf.__version__, dataset_sha256=digest, info=info)


def broadcast_run_spec(hosts: Hosts, own: RunSpec) -> RunInfo:
    """The run as the first host has it, its own description being that of this one.

    Raises:
        UserError: this host would train something else.
    """
    said = hosts.broadcast_bytes(own.model_dump_json().encode())
    if hosts.is_chief:
        return own.info
    try:
        first = RunSpec.model_validate_json(said)
    except pydantic.ValidationError as error:
        raise UserError(
            f"{hosts}: the first host runs another version of this program; install the same one"
        ) from error
    difference = _difference(own, first)
    if difference:
        raise UserError(f"{hosts}: {difference}; start the same command, on the same data, on all hosts")
    return first.info


def _difference(own: RunSpec, first: RunSpec) -> str | None:
    """In words; the plan's history is the first host's alone, for it has the run's folder."""
    if own.tensorflow != first.tensorflow:
        return f"TensorFlow is {own.tensorflow} here and {first.tensorflow} on the first host"
    for key, (here, there) in contract_differences(own.info.contract, first.info.contract).items():
        return f"the dataset's {key} is {here} here and {there} there"
    if own.dataset_sha256 != first.dataset_sha256:
        return "data is of the same contract as on the first host, but dataset.json or its shards differ"
    settings = _settings(own.info), _settings(first.info)
    names = [name for name in sorted(settings[0] | settings[1]) if settings[0].get(name) != settings[1].get(name)]
    if names:
        here, there = (one.get(names[0]) for one in settings)
        return f"config differs from the first host's in {', '.join(names)} ({names[0]} is {here} here, {there} there)"
    return None


def _settings(info: RunInfo) -> dict[str, Any]:
    """Each setting by its dotted name."""

    def flat(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            return {name: value}
        return {key: one for part in value for key, one in flat(value[part], f"{name}.{part}".lstrip(".")).items()}

    return flat(info.config.model_dump(mode="json"), "")
