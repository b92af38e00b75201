"""Collective operations of a single host, and the messages for a host that is gone."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.train_config import TrainConfig
from trainer.data.plan import BucketLimit
from trainer.distributed.collectives import Hosts, _join, check_equal_gpus
from trainer.distributed.tf_config import Cluster
from trainer.training.run_spec import RunSpec, agree_on_run

# TensorFlow's messages on loopback, after the other host or the chief was killed
GONE = tf.errors.UnavailableError(
    None,
    None,
    "Graph execution error:\n\nDetected at node CollectiveReduceV2 …/job:worker/replica:0/task:0/device:CPU:0\n\n"
    "Collective ops is aborted by: Error reported from /job:worker/task:1: The following tasks are unhealthy (stopped "
    "sending heartbeats):\n/job:worker/replica:0/task:1\nThe tasks have crashed.",
)
RESET = tf.errors.UnavailableError(
    None,
    None,
    "Collective ops is aborted by: recvmsg:Connection reset by peer\nAdditional GRPC error information from remote "
    "target /job:worker/replica:0/task:0 while calling /tensorflow.WorkerService/CompleteInstance",
)
VAGUE = tf.errors.CancelledError(None, None, "[_Derived_]RecvAsync is cancelled.")


def of_two(number: int, chief: bool = False) -> Hosts:
    """Return one of two hosts, without communication."""
    hosts = Hosts()
    hosts._cluster = Cluster(("a:1", "b:2"), number, workers=1 if chief else 2)
    return hosts


def test_a_single_host_needs_no_communication() -> None:
    hosts = Hosts()
    assert (hosts.count, hosts.is_chief, hosts.strategy) == (1, True, None)
    assert hosts.gather([3, 4]).tolist() == [[3, 4]]
    assert hosts.broadcast([5]) == [5]
    assert hosts.broadcast_bytes(b"what it says") == b"what it says"
    assert hosts.sync_stop(received=None) == (None, False)
    assert hosts.sync_stop(received=15, is_over=True) == (15, True)
    variable = keras.Variable(np.arange(3.0))
    hosts.broadcast_variables([variable])
    assert variable.numpy().tolist() == [0, 1, 2]


def test_fingerprints_of_the_hosts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    Hosts().check_equal("00ff" * 8, what="the order")
    hosts = of_two(0)
    for ours, theirs, is_same in (("ab" * 16, "ab" * 16, True), ("ab" * 16, "ab" * 15 + "aa", False)):
        other = np.array([int(theirs[place : place + 8], 16) for place in range(0, 32, 8)])
        monkeypatch.setattr(hosts, "gather", lambda own, other=other: np.stack([np.array(own), other]))
        if is_same:
            hosts.check_equal(ours, what="the order")
            continue
        with pytest.raises(UserError, match="host 0 of 2: the order differs between host 1 and the chief"):
            hosts.check_equal(ours, what="the order")


@pytest.mark.parametrize(
    ("number", "error", "who"),
    [
        (0, GONE, r"host 0 of 2: host 1 \(b:2\) is gone"),
        (1, RESET, r"host 1 of 2: host 0 \(a:1\) is gone"),
        (1, VAGUE, r"host 1 of 2: another host is gone"),
    ],
)
def test_a_host_that_is_gone_is_named_in_one_line(number: int, error: Exception, who: str) -> None:
    said = rf"^{who}; .* start the same command on all hosts again"
    with pytest.raises(UserError, match=said) as found, of_two(number).translate_errors():
        raise error
    assert "\n" not in str(found.value)


def test_with_a_chief_the_first_worker_is_the_second_host() -> None:
    error = tf.errors.UnavailableError(None, None, GONE.message.replace("task:1", "task:0"))
    with pytest.raises(UserError, match=r"host 1 \(b:2\) is gone"), of_two(0, chief=True).translate_errors():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "Collective ops is aborted by: OOM when allocating tensor"),
        tf.errors.InvalidArgumentError(None, None, "/job:worker/task:1 shapes do not fit"),
    ],
)
def test_an_error_of_this_host_is_not_blamed_on_another(error: tf.errors.OpError) -> None:
    with pytest.raises(type(error)), of_two(0).translate_errors():
        raise error
    with pytest.raises(tf.errors.UnavailableError), Hosts().translate_errors():
        raise GONE


def gpus(*counts: int) -> list[str]:
    return [
        f"/job:worker/replica:0/task:{host}/device:GPU:{n}" for host, count in enumerate(counts) for n in range(count)
    ]


def test_hosts_with_unequal_numbers_of_gpus_are_refused() -> None:
    check_equal_gpus([], hosts=2)
    check_equal_gpus(gpus(4, 4), hosts=2)
    for counts in ((4, 2), (0, 1)):
        with pytest.raises(UserError, match=r"unequal numbers of GPUs \(.* on worker 1; 2 hosts\)"):
            check_equal_gpus(gpus(*counts), hosts=2)


class Worker:
    """A host that receives these bytes from the chief."""

    is_chief = False

    def __init__(self, received: bytes):
        self._received = received

    def __str__(self) -> str:
        return "host 1 of 2"

    def broadcast_bytes(self, _: bytes) -> bytes:
        return self._received


def run_spec(dataset: Dataset, **changes: Any) -> RunSpec:
    settings = {name: value for name, value in changes.items() if name in TrainConfig.model_fields}
    own = RunSpec.of(RunInfo.of(TrainConfig(**settings), dataset=dataset), dataset=dataset)
    return own.model_copy(update={name: value for name, value in changes.items() if name not in settings})


def test_workers_take_the_run_info_of_the_chief(dataset: Dataset) -> None:
    first = run_spec(dataset)
    ceilings = (BucketLimit(3, 400, 40),)
    first = first.model_copy(update={"info": first.info.model_copy(update={"planned_steps": 7, "ceilings": ceilings})})
    info = agree_on_run(Worker(first.model_dump_json().encode()), run_spec(dataset))
    assert info == first.info


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "config differs from the chief's in seed (seed is 1 here, 2 on the chief)"),
        (
            {"steps": 5, "optimizer": {"learning_rate": 0.5}},
            "config differs from the chief's in optimizer.learning_rate, steps (optimizer.learning_rate is",
        ),
        ({"tensorflow": "1.15"}, f"TensorFlow is {tf.__version__} here and 1.15 on the chief"),
        ({"dataset_sha256": "0" * 64}, "the dataset has the chief's contract, but dataset.json or its"),
    ],
)
def test_a_worker_with_another_run_spec_names_the_difference(dataset: Dataset, change: dict, said: str) -> None:
    first = run_spec(dataset, **change).model_dump_json().encode()
    with pytest.raises(UserError) as found:
        agree_on_run(Worker(first), run_spec(dataset))
    assert str(found.value).startswith(f"host 1 of 2: {said}")
    assert "\n" not in str(found.value)


def test_a_host_with_another_version_of_the_program_says_so(dataset: Dataset) -> None:
    with pytest.raises(UserError, match="the chief runs another version of this program"):
        agree_on_run(Worker(b'{"of": "another"}'), run_spec(dataset))


@pytest.mark.parametrize(("gpus", "implementation"), [(["GPU:0"], "NCCL"), ([], "AUTO")])
def test_gpus_of_several_hosts_add_up_by_nccl(
    gpus: list[str], implementation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def meet(*, communication_options: tf.distribute.experimental.CommunicationOptions) -> None:
        asked.append(communication_options.implementation.name)
        raise tf.errors.DeadlineExceededError(None, None, "nobody came")

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: gpus)
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", meet)
    with pytest.raises(UserError, match="nobody came"):
        _join(Cluster(("a:1", "b:1"), number=0, workers=2))
    assert asked == [implementation]
