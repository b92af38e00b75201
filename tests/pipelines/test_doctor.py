"""`myxtts-data doctor` on machines that lack something."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines import doctor
from pipelines.execution.flink import checks
from pipelines.execution.flink import responses as answers
from pipelines.execution.flink import restart_strategy as restarts
from shared.errors import UserError


def test_a_local_run_needs_no_more_than_this_environment(command: Callable, tmp_path: Path) -> None:
    outcome = command("doctor", "--data", tmp_path / "not" / "yet")
    assert outcome.code == 0
    assert [line.split()[:2] for line in outcome.out.splitlines()] == [
        ["ok", "Python"],
        ["ok", "libraries"],
        ["ok", "disk"],
    ]


def test_missing_parts_are_reported_with_their_remedy(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    monkeypatch.setattr(doctor, "LIBRARIES", (*doctor.LIBRARIES, "no-such-library"))
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 1))
    outcome = command("doctor", "--data", tmp_path)
    assert outcome.code == 1
    python, libraries, disk = outcome.out.splitlines()
    assert "3.10.1" in python
    assert "expected 3.11 or 3.12: `rm -rf .venv; make setup PYTHON=python3.11`" in python
    assert libraries.strip().startswith("libraries      no-such-library missing")
    assert disk.strip().startswith(f"disk           1.0 GiB free at {tmp_path}; expected 2 or more; make room")


def refusing(message: str) -> Callable[[], str]:
    def refuse() -> str:
        raise UserError(message)

    return refuse


def test_a_run_on_flink_needs_java_jars_and_a_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("FLINK_MASTER", "localhost:1")
    monkeypatch.setattr(checks, "java_home", refusing("Java 17 is required"))
    found = {one.name: one.trouble for one in doctor.check_environment("flink", data=tmp_path)}
    assert found["Java"] == "Java 17 is required"
    assert found["Flink's files"] == "not installed; `make flink-up` installs them (300 MB)"
    assert found["cluster"].startswith("no Flink cluster answers at localhost:1 ")
    assert found["job server"] == found["worker"] == found["Python"] == ""


def test_with_a_given_job_server_neither_maven_nor_flinks_files_are_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FLINK_MASTER", "localhost:1")
    monkeypatch.setenv("FLINK_JOB_SERVER_JAR", __file__)
    monkeypatch.setenv("FLINK_ENVIRONMENT", "EXTERNAL:localhost:50000")
    monkeypatch.setattr(checks, "maven", refusing("no Maven"))
    found = {one.name: one for one in doctor.check_environment("flink", data=tmp_path)}
    assert found["Maven"].found == found["Flink's files"].found == "not needed with FLINK_JOB_SERVER_JAR"
    assert found["job server"].found == f"{__file__}, started for each run"
    assert (
        found["worker"].found
        == "of the pool at localhost:50000 beside each TaskManager, which is not checked from here"
    )


@pytest.mark.parametrize(
    ("overview", "expected"),
    [
        ({"flink-version": "1.20.5", "slots-total": 2}, "is Flink 1.20.5, the job server here is for 1.19; set"),
        ({"flink-version": "1.19.1", "slots-total": 0}, "has no TaskManager"),
    ],
)
def test_a_cluster_that_cannot_take_the_job_is_refused(
    overview: dict[str, object], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLINK_JOB_SERVER_JAR", raising=False)
    whole = {"taskmanagers": 1, "slots-available": 0} | overview
    monkeypatch.setattr(answers, "rest_request", lambda master, path: whole)
    with pytest.raises(UserError, match=expected):
        checks.count_slots("flink:8081")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "^none: a job fails with the first worker that is lost; .* delay: 6 s"),
        ({"restart-strategy.type": "disable"}, "^disable: a job fails with"),
        ({"restart-strategy.type": "fixed-delay"}, "^fixed-delay after 1 s, expected more than 5 s"),
        (
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "5000"},
            "after 5000, expected",
        ),
        ({"restart-strategy": "failure-rate", "restart-strategy.failure-rate.delay": "5 s"}, "failure-rate after 5 s"),
        ({"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "soon"}, "delay of 'soon'"),
    ],
)
def test_a_cluster_that_restarts_a_lost_job_too_soon_or_never_is_reported(
    settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"key": key, "value": value} for key, value in settings.items()]
    monkeypatch.setattr(answers, "rest_request", lambda master, path: rows)
    with pytest.raises(UserError, match=expected):
        restarts.check_restart_strategy("flink:8081")


@pytest.mark.parametrize(
    ("strategy", "key", "delay"),
    [
        ("fixed-delay", "delay", "6 s"),
        ("fixed-delay", "delay", "1min"),
        ("failure-rate", "delay", "5001 ms"),
        ("exponential-delay", "initial-backoff", "10s"),
    ],
)
def test_a_cluster_that_waits_long_enough_passes(
    strategy: str, key: str, delay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"restart-strategy.type": strategy, f"restart-strategy.{strategy}.{key}": delay}
    rows = [{"key": key, "value": value} for key, value in settings.items()]
    monkeypatch.setattr(answers, "rest_request", lambda master, path: rows)
    assert restarts.check_restart_strategy("flink:8081") == f"{strategy}, after {delay}"
