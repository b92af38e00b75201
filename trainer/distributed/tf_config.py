"""Parse TF_CONFIG, the environment variable that names the hosts of a run; TensorFlow reads it too."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from shared.errors import UserError

EXPECTED = (
    'expected {"cluster": {"worker": ["first:12345", "second:12345"]}, "task": {"type": "worker", "index": 0}}, with '
    "another index on each host; or unset it to train on this host alone"
)


_ADDRESS = re.compile(r"[^\s/]+:(\d{1,5})")
_MAX_PORT = 65_535


class Cluster(NamedTuple):
    """The hosts of a run, and the number of this one."""

    addresses: tuple[str, ...]  # HOST:PORT of each
    number: int
    workers: int  # hosts of type worker; a chief, if there is one, comes first

    @property
    def is_chief(self) -> bool:
        return self.number == 0

    def __str__(self) -> str:
        return f"host {self.number} of {len(self.addresses)}"


def parse_tf_config(text: str | None) -> Cluster | None:
    """Parse the value of TF_CONFIG; None if it is not set.

    Raises:
        UserError: the value does not describe two or more hosts.
    """
    if text is None:
        return None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"TF_CONFIG: not JSON ({error}); {EXPECTED}") from error
    hosts = _hosts(document)
    task = document.get("task")
    kind, number = (task.get("type"), task.get("index")) if isinstance(task, dict) else (None, None)
    if not isinstance(kind, str) or kind not in hosts:
        raise UserError(f"TF_CONFIG: task.type is {kind!r}, and the cluster has {', '.join(hosts)}; {EXPECTED}")
    if type(number) is not int or not 0 <= number < len(hosts[kind]):
        raise UserError(f"TF_CONFIG: task.index is {number!r}, and there are {len(hosts[kind])} of {kind}; {EXPECTED}")
    chief, workers = hosts.get("chief", []), hosts.get("worker", [])
    return Cluster((*chief, *workers), number + (len(chief) if kind == "worker" else 0), len(workers))


def _hosts(document: Any) -> dict[str, list[str]]:
    """Return the addresses by task type, two or more in all."""
    found = document.get("cluster") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise UserError(f"TF_CONFIG: no cluster; {EXPECTED}")
    for kind, addresses in found.items():
        if kind not in ("chief", "worker"):
            raise UserError(f"TF_CONFIG: the cluster has a task of type {kind!r}; {EXPECTED}")
        if not isinstance(addresses, list) or not addresses or not all(map(_is_address, addresses)):
            raise UserError(f"TF_CONFIG: cluster.{kind} is not a list of HOST:PORT; {EXPECTED}")
    if len(found.get("chief", ())) > 1:
        raise UserError(f"TF_CONFIG: the cluster has more than one chief; {EXPECTED}")
    every = [one for addresses in found.values() for one in addresses]
    if len(every) < 2 or len(set(every)) < len(every):
        raise UserError(
            f"TF_CONFIG: the cluster has {len(set(every))} different addresses, fewer than its tasks or than two; "
            f"{EXPECTED}"
        )
    return found


def _is_address(one: object) -> bool:
    match = _ADDRESS.fullmatch(one) if isinstance(one, str) else None
    return match is not None and 0 < int(match[1]) <= _MAX_PORT
