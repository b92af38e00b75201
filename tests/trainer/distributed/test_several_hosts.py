"""Runs on two hosts have the losses and checkpoints of one, whatever happens to the other host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import safetensors.numpy

from tests.trainer import device_runs, toy, two_hosts
from tests.trainer.processes import begin
from trainer.checkpoint.checkpoint_files import list_checkpoints

STEPS = 8
LEFT, POISONED, KILLED = 2, [5, 6], 5  # steps
TOYS = (
    "configs/train_sample.yaml",
    f"steps={STEPS}",
    "log_every=1",
    "validate_every=2",
    "checkpoint_every=2",
    "input.buckets=1",
    "input.global_frames_per_batch=1500",
    "optimizer.schedule.kind=constant",
    "synthesis_eval.clips=0",
    "plateau.patience=1",  # after each validation but the first the rate is another
    "plateau.cooldown=0",
    "plateau.min_delta=0.9",
    "recovery.max_nonfinite_steps=2",
)
PICO = ("configs/train_sample.yaml", *device_runs.SETTINGS, f"steps={device_runs.STEPS}")

LOSSES = ("loss", "mel", "kl", "flux", "stop", "guided_attention")

pytestmark = pytest.mark.slow


class Ended(NamedTuple):
    """Exit codes and output of both hosts."""

    codes: list[int]
    said: list[str]


class Runs(NamedTuple):
    """The results of the runs, and their folder."""

    folder: Path
    ended: dict[str, Ended]


@pytest.fixture(scope="module")
def real(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Of the real network; the second host is killed."""
    folder = tmp_path_factory.mktemp("hosts")
    killed = {"words": (*PICO, *_place(data, folder / "run")), "network": "pico", "how": "SIGKILL", "at": [KILLED]}
    return _train(folder, {"killed": killed})


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Of the toy, one after another; those with the same folder resume one run."""
    folder = tmp_path_factory.mktemp("hosts")
    asked = {
        "killed": {"words": (*TOYS, *_place(data, folder / "killed")), "how": "SIGKILL", "at": [KILLED]},
        "signalled": {"words": (*TOYS, *_place(data, folder / "toy")), "how": "SIGTERM", "at": [LEFT]},
        "resumed": {"words": (*TOYS, *_place(data, folder / "toy")), "how": "NaN", "at": POISONED},
        "unequal": {"words": (*TOYS, *_place(data, folder / "toy")), "of_each": [[], ["seed=2"]]},
    }
    return _train(folder, asked)


def _train(folder: Path, asked: dict[str, dict]) -> Runs:
    nothing = {"network": "toy", "how": None, "at": [], "of_each": [[], []]}
    process = begin(
        [sys.executable, "-m", "tests.trainer.two_hosts"], environment=device_runs.ENVIRONMENT, stdin=subprocess.PIPE
    )
    lines = "".join(f"{json.dumps(nothing | one)}\n" for one in asked.values())
    out, err = process.communicate(lines, timeout=device_runs.TIMEOUT_S)
    found = [Ended(**json.loads(line)) for line in out.splitlines()]
    assert len(found) == len(asked), err[-3000:]
    return Runs(folder, dict(zip(asked, found, strict=True)))


def _place(data: Path, run: Path) -> list[str]:
    return ["--data", str(data), "--run", str(run)]


@pytest.mark.soak
def test_two_hosts_train_the_real_network_as_one_until_one_is_killed(real: Runs, on_devices: device_runs.Runs) -> None:
    """Equal losses, and checkpoints equal up to the order of summation; `make test` compares the toy's losses."""
    run = real.folder / "run"
    for kind, steps in (("train", [*range(1, KILLED + 1)]), ("validation", [device_runs.STEPS // 2])):
        pairs, ones = (device_runs.rows(each, kind=kind) for each in (run, on_devices.one))
        assert [row["step"] for row in pairs] == steps
        for pair, one in zip(pairs, ones, strict=False):
            for name in LOSSES:
                assert pair[name] == pytest.approx(one[name], rel=1e-3), (kind, one["step"], name)
    pair, one = (
        safetensors.numpy.load_file(next(saved.path for saved in list_checkpoints(each) if saved.step == KILLED - 1))
        for each in (run, on_devices.one)
    )
    assert pair.keys() == one.keys()
    for name, value in one.items():
        assert pair[name].shape == value.shape
        total = float(np.abs(value.astype(np.float64)).sum())
        assert float(np.abs(pair[name].astype(np.float64)).sum()) == pytest.approx(total, rel=5e-3, abs=1e-4), name


def test_a_host_that_is_killed_ends_the_other_in_one_line(runs: Runs) -> None:
    ended = runs.ended["killed"]
    assert ended.codes == [2, -9], ended.said
    assert re.fullmatch(
        r"error: host 0 of 2: host 1 \(127\.0\.0\.1:\d+\) is gone; .* start the same command on all hosts again: .*",
        ended.said[0].splitlines()[-1],
    )
    assert list_checkpoints(runs.folder / "killed")[-1].step == KILLED - 1


def test_a_signal_to_one_host_ends_both_and_both_go_on_as_if_undisturbed(
    runs: Runs, command: Callable, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then a batch is not finite on the worker: the whole batch is logged, and both hosts roll back.

    The learning rate changes after each validation and at the rollback; a worker that missed that would diverge.
    """
    signalled, resumed = runs.ended["signalled"], runs.ended["resumed"]
    assert signalled.codes == [143, 143], signalled.said
    steps = [
        re.findall(r"SIGTERM: stopped after step (\d), which .*saved; run the same command", said)
        for said in signalled.said
    ]
    assert steps[0] == steps[1]
    assert steps[0] in (["2"], ["3"])  # it comes while they agree on how to go on, or just after
    assert resumed.codes == [0, 0], resumed.said
    assert f"resuming after step {steps[0][0]}, epoch 0" in resumed.said[0]
    toy.put_in(monkeypatch.setattr, TrainStep=two_hosts.disturbed(two_hosts.ToyStep, "NaN", at=POISONED))
    assert command("train", *TOYS, *_place(data, tmp_path)).code == 0
    for kind in ("train", "validation"):
        pairs, ones = (device_runs.rows(one, kind=kind) for one in (runs.folder / "toy", tmp_path))
        assert [row["step"] for row in pairs] == [row["step"] for row in ones] != []
        for pair, one in zip(pairs, ones, strict=True):
            for name in {"loss", "gradient_norm", "learning_rate"} & one.keys():
                assert pair[name] == pytest.approx(one[name], rel=1e-5), (kind, one["step"], name)
    pairs, ones = (
        [{name: fact for name, fact in one.items() if name != "reason"} for one in incidents(run)]
        for run in (runs.folder / "toy", tmp_path)
    )
    assert pairs == ones
    kinds = [one["kind"] for one in ones]
    assert [kind for kind in kinds if kind != "plateau"] == ["skipped", "skipped", "went back"]
    assert kinds.count("plateau") >= 2


def incidents(run: Path) -> list[dict]:
    rows = map(json.loads, (run / "incidents.jsonl").read_text(encoding="utf-8").splitlines())
    return [{**row, "utterances": sorted(row.get("utterances", []))} for row in rows]


def test_a_worker_logs_its_devices_and_no_metrics(runs: Runs) -> None:
    first, second = runs.ended["resumed"].said
    assert "/CPU:0 on each of 2 hosts, " in first
    heads = ("waiting for all of 127", "/CPU:0 on each of 2 hosts; checkpoints, metrics and validation are the chief")
    own = [line for line in second.splitlines() if line.startswith("host 1 of 2: ")]
    assert len(own) == len(heads)
    assert all(line.startswith(f"host 1 of 2: {head}") for line, head in zip(own, heads, strict=True))
    assert second.splitlines()[-1].endswith(f"step {STEPS}, see the chief host, which has the run")
    assert "loss" not in second


def test_hosts_with_different_configs_are_refused(runs: Runs) -> None:
    ended = runs.ended["unequal"]
    assert ended.codes == [2, 2], ended.said
    assert (
        "error: host 1 of 2: config differs from the chief's in seed (seed is 2 here, 1 on the chief); "
        in ended.said[1]
    )
    assert re.search(r"^error: host 0 of 2: host 1 .* is gone", ended.said[0], re.MULTILINE)
    assert not any("Traceback" in said for said in ended.said)
