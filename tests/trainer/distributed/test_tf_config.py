"""TF_CONFIG: the hosts of a run, and one-line errors for invalid values."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from shared.errors import UserError
from trainer.distributed.tf_config import Cluster, parse_tf_config

TWO = {"worker": ["a:1", "b:2"]}


def config(cluster: object = TWO, kind: str = "worker", index: object = 0) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def test_without_the_variable_a_host_trains_alone() -> None:
    assert parse_tf_config(None) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (config(), Cluster(("a:1", "b:2"), 0, 2)),
        (config(index=1), Cluster(("a:1", "b:2"), 1, 2)),
        (config({"chief": ["c:3"], **TWO}, "chief"), Cluster(("c:3", "a:1", "b:2"), 0, 2)),
        (config({"chief": ["c:3"], **TWO}, "worker", 1), Cluster(("c:3", "a:1", "b:2"), 2, 2)),
    ],
)
def test_hosts_are_numbered_from_the_chief_on(text: str, found: Cluster) -> None:
    assert parse_tf_config(text) == found
    assert str(parse_tf_config(text)) == f"host {found.number} of {len(found.addresses)}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "no cluster"),
        ('{"cluster": {}}', "has 0 different addresses"),
        (config({"worker": ["a:1"]}), "has 1 different addresses"),
        (config({"worker": ["a:1", "a:1"]}), "has 1 different addresses"),
        (config({**TWO, "ps": ["c:3"]}), "has a task of type 'ps'"),
        (config({**TWO, "evaluator": ["c:3"]}, "evaluator"), "has a task of type 'evaluator'"),
        (config({**TWO, "chief": ["c:3", "d:4"]}), "has more than one chief"),
        (config({"worker": "a:1"}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["a", "b"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["a:", "b:2"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["a:0", "b:2"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["a:65536", "b:2"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["a:port", "b:2"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({"worker": ["http://a:1", "b:2"]}), "cluster.worker is not a list of HOST:PORT"),
        (config({**TWO, "chief": []}), "cluster.chief is not a list of HOST:PORT"),
        (json.dumps({"cluster": TWO, "task": {"type": ["worker"], "index": 0}}), "task.type is ['worker']"),
        (config(kind="chief"), "task.type is 'chief', and the cluster has worker"),
        (config(kind="ps"), "task.type is 'ps'"),
        (json.dumps({"cluster": TWO}), "task.type is None"),
        (json.dumps({"cluster": TWO, "task": {"type": "worker"}}), "task.index is None"),
        (config(index=2), "task.index is 2, and there are 2"),
        (config(index=-1), "task.index is -1"),
        (config(index="0"), "task.index is '0'"),
        (config(index=True), "task.index is True"),
    ],
)
def test_an_invalid_value_is_refused_in_one_line(text: str, wrong: str) -> None:
    with pytest.raises(UserError) as found:
        parse_tf_config(text)
    assert str(found.value).startswith("TF_CONFIG: ")
    assert wrong in str(found.value)
    assert "\n" not in str(found.value)
    assert 'expected {"cluster": ' in str(found.value)


def test_an_invalid_tf_config_is_reported_before_anything_else(
    command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", config({"worker": ["a:1"]}))
    outcome = command("train", "configs/train_sample.yaml", "--data", "d", "--run", "r")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: TF_CONFIG: ")
