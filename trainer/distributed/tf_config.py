"""The hosts that train together, as TF_CONFIG names them; TensorFlow itself reads the same variable."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from shared.errors import UserError

WANTED = (
    'wanted {"cluster": {"worker": ["first:12345", "second:12345"]}, "task": {"type": "worker", "index": 0}}, with an '
    "index of its own on each host; or unset it to train on this host alone"
)


_ADDRESS = re.compile(r"[^\s/]+:(\d{1,5})")
_MAX_PORT = 65_535


class Cluster(NamedTuple):
    """Hosts in the order of their numbers, and which of them this one is."""

    addresses: tuple[str, ...]  # HOST:PORT of each
    number: int
    workers: int  # of them; a chief, if there is one, comes first

    @property
    def is_chief(self) -> bool:
        return self.number == 0

    def __str__(self) -> str:
        return f"host {self.number} of {len(self.addresses)}"


def parse_tf_config(text: str | None) -> Cluster | None:
    """What TF_CONFIG says; None where it is not set.

    Raises:
        UserError: it names no such hosts.
    """
    if text is None:
        return None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"TF_CONFIG: no JSON ({error}); {WANTED}") from error
    hosts = _hosts(document)
    task = document.get("task")
    kind, number = (task.get("type"), task.get("index")) if isinstance(task, dict) else (None, None)
    if not isinstance(kind, str) or kind not in hosts:
        raise UserError(f"TF_CONFIG: task.type is {kind!r}, and the cluster has {', '.join(hosts)}; {WANTED}")
    if type(number) is not int or not 0 <= number < len(hosts[kind]):
        raise UserError(f"TF_CONFIG: task.index is {number!r}, and there are {len(hosts[kind])} of {kind}; {WANTED}")
    chief, workers = hosts.get("chief", []), hosts.get("worker", [])
    return Cluster((*chief, *workers), number + (len(chief) if kind == "worker" else 0), len(workers))


def _hosts(document: Any) -> dict[str, list[str]]:
    """Addresses by the kind of their task, two or more in all."""
    found = document.get("cluster") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise UserError(f"TF_CONFIG: names no cluster; {WANTED}")
    for kind, addresses in found.items():
        if kind not in ("chief", "worker"):
            raise UserError(f"TF_CONFIG: the cluster has a task of type {kind!r}; {WANTED}")
        if not isinstance(addresses, list) or not addresses or not all(map(_is_address, addresses)):
            raise UserError(f"TF_CONFIG: cluster.{kind} is no list of HOST:PORT; {WANTED}")
    if len(found.get("chief", ())) > 1:
        raise UserError(f"TF_CONFIG: the cluster has more than one chief; {WANTED}")
    every = [one for addresses in found.values() for one in addresses]
    if len(every) < 2 or len(set(every)) < len(every):
        raise UserError(f"TF_CONFIG: the cluster has {len(set(every))} addresses of their own; {WANTED}")
    return found


def _is_address(one: object) -> bool:
    match = _ADDRESS.fullmatch(one) if isinstance(one, str) else None
    return match is not None and 0 < int(match[1]) <= _MAX_PORT
