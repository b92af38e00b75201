"""Submission of a job to Flink: no job is lost by an interrupt, a kill, or a service that does not answer."""

from __future__ import annotations

import _thread
import contextlib
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import apache_beam as beam
import grpc
import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.portability import common_urns
from apache_beam.runners.pipeline_context import PipelineContext
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineState
from apache_beam.transforms.environments import Environment

from pipelines.execution import leftover_jobs
from pipelines.execution.flink import install as installing
from pipelines.execution.flink import job_server as servers
from pipelines.execution.flink import rest, runner, versions
from pipelines.execution.flink.processes import is_port_open
from pipelines.execution.flink.runner import FlinkResult, FlinkRunner, flink_pipeline
from pipelines.execution.leftover_jobs import end_leftover_job, registered_job
from pipelines.execution.runners import run_graph
from shared.errors import UserError
from shared.lock_holder import ClusterJob, LockHolder
from shared.locks import Lock, write_lock
from tests.commands import Outcome
from tests.pipelines.execution.flink.test_flink_jobs import Service, listed, states
from tests.pipelines.test_doctor import refusing

NOWHERE = {"jobs": []}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A fake Flink that is polled a hundred times a second."""
    for module in (runner, leftover_jobs):
        monkeypatch.setattr(module, "INTERVAL_S", 0.01)
    found = Service()
    monkeypatch.setenv("FLINK_MASTER", found.master)
    yield found
    found.server.shutdown()
    found.server.server_close()


class Submitted:
    """Beam's states of a job, one after another; an exception among them is raised."""

    def __init__(self, *states: object):
        self._states = list(states)
        self._message_stream = iter(())

    @property
    def state(self) -> object:
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        if isinstance(state, BaseException):
            raise state
        return state


def result(service: Service, *states: object) -> FlinkResult:
    return FlinkResult(Submitted(*states), master=service.master, name="ours")


def runs_until_cancelled(service: Service) -> None:
    service.answers |= {"/jobs/j0/status": states("RUNNING", "CANCELED"), "/jobs/j0?mode=cancel": {}}


def was_cancelled(service: Service) -> bool:
    return "PATCH /jobs/j0?mode=cancel" in service.asked


def test_an_interrupt_before_flink_lists_the_job_cancels_it_once_listed(service: Service) -> None:
    service.answers["/jobs/overview"] = [NOWHERE, NOWHERE, NOWHERE, listed("RUNNING")]
    runs_until_cancelled(service)
    with pytest.raises(KeyboardInterrupt):
        result(service, KeyboardInterrupt(), PipelineState.RUNNING).wait_until_finish()
    assert was_cancelled(service)


def test_an_interrupt_during_the_submission_cancels_the_job(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def submit(*_: object) -> Submitted:
        time.sleep(0.1)
        _thread.interrupt_main()
        time.sleep(0.2)
        service.answers["/jobs/overview"] = listed("RUNNING", name="ours")
        sent.append(1)
        return Submitted(PipelineState.RUNNING)

    service.answers["/jobs/overview"] = NOWHERE
    runs_until_cancelled(service)
    monkeypatch.setattr(PortableRunner, "run_portable_pipeline", submit)
    monkeypatch.setattr(runner, "job_server", lambda master: contextlib.nullcontext("localhost:1"))
    options = PipelineOptions(["--job_name=ours"])
    with pytest.raises(KeyboardInterrupt):
        FlinkRunner(service.master).run_portable_pipeline(None, options)
    assert sent == [1]
    assert was_cancelled(service)


@pytest.mark.parametrize("state", [PipelineState.FAILED, PipelineState.CANCELLED, PipelineState.DONE])
def test_a_job_that_ended_without_reaching_flink_is_not_waited_for(state: str, service: Service) -> None:
    service.answers["/jobs/overview"] = NOWHERE
    with pytest.raises(RuntimeError, match="refused ours: no reason given"):
        result(service, PipelineState.RUNNING, state).wait_until_finish()


def test_a_job_that_finished_before_the_first_poll_is_done(service: Service) -> None:
    service.answers |= {
        "/jobs/overview": [NOWHERE, listed("FINISHED")],
        "/jobs/j0/status": states("FINISHED"),
        "/jobs/j0/exceptions": {},
    }
    assert result(service, PipelineState.DONE).wait_until_finish() == PipelineState.DONE


def test_a_short_outage_is_tolerated(service: Service) -> None:
    service.answers |= {
        "/jobs/overview": [b"<html>", NOWHERE, listed("RUNNING")],
        "/jobs/j0/status": states("FINISHED"),
        "/jobs/j0/exceptions": {},
    }
    assert result(service, grpc.RpcError(), PipelineState.RUNNING).wait_until_finish() == PipelineState.DONE


def test_a_dead_job_server_is_reported_in_one_line(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_SILENCE_S", 0.05)
    service.answers["/jobs/overview"] = NOWHERE
    with pytest.raises(
        rest.Unreachable, match=r"^Beam's job server does not answer \(RpcError\); ours may have reached Flink at "
    ):
        result(service, grpc.RpcError()).wait_until_finish()


def test_after_an_unanswered_submission_the_job_may_exist(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall_silent(*_: object) -> NoReturn:
        raise grpc.RpcError

    monkeypatch.setattr(runner, "job_server", lambda master: contextlib.nullcontext("localhost:1"))
    monkeypatch.setattr(PortableRunner, "run_portable_pipeline", fall_silent)
    with pytest.raises(rest.Unreachable, match=r"^Beam's job server does not answer \(RpcError\); ours may have"):
        run_graph(lambda pipeline: pipeline | beam.Create([1]), runner="flink", workers=1, name="ours")


def test_a_job_server_of_the_user_needs_java_only(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in for Java listens at the port that it is given, as the job server would."""
    jar, java = tmp_path / "job-server.jar", tmp_path / "bin" / "java"
    jar.touch()
    java.parent.mkdir()
    java.write_text(f"#!{sys.executable}\n{LISTENER}")
    java.chmod(0o755)
    monkeypatch.setenv("FLINK_JOB_SERVER_JAR", str(jar))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(servers, "java_home", lambda: tmp_path)
    monkeypatch.setattr(installing, "maven", refusing("no Maven"))
    service.answers["/jobmanager/environment"] = {"classpath": ["/opt/flink/lib/flink-dist-1.20.0.jar"]}
    with runner.job_server(service.master) as endpoint:
        assert is_port_open(int(endpoint.rpartition(":")[2]))
    assert not (tmp_path / "cache").exists()
    assert str(jar) in (tmp_path / "words").read_text().split()


@pytest.mark.parametrize(("runs_beam", "folder"), [(False, "runner"), (True, "gradle/wrapper")])
def test_beams_jars_are_submitted_only_to_a_cluster_that_lacks_them(
    runs_beam: bool, folder: str, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beam's job server submits every jar of its class path but those below `gradle/wrapper`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FLINK_JOB_SERVER_JAR", raising=False)
    monkeypatch.setattr(runner, "install", lambda log: installing.installation())
    monkeypatch.setattr(runner, "child_job_server", lambda master, *, class_path, **_: class_path)
    found = versions.versions()
    jars = ["flink-dist.jar", f"beam-runners-flink-{found.flink_line}-{found.beam}.jar"][: 1 + runs_beam]
    service.answers["/jobmanager/environment"] = {"classpath": [f"/opt/flink/lib/{jar}" for jar in jars]}
    assert f"/{folder}/*" in runner.job_server(service.master)


LISTENER = """
import pathlib, socket, sys
pathlib.Path(__file__).parents[1].joinpath("words").write_text(" ".join(sys.argv))
(port,) = (int(word.partition("=")[2]) for word in sys.argv if word.startswith("--job-port"))
with socket.create_server(("localhost", port)) as server:
    while True:
        server.accept()
"""


@pytest.mark.parametrize("named", ["PROCESS", "EXTERNAL", "EXTERNAL:50000", "EXTERNAL:localhost:0"])
def test_an_invalid_environment_is_refused(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLINK_ENVIRONMENT", named)
    with pytest.raises(UserError, match=rf"^FLINK_ENVIRONMENT={named}: expected EXTERNAL:host:port"):
        flink_pipeline("localhost:1", workers=1, name="ours")


def test_workers_are_started_by_task_managers_or_by_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLINK_ENVIRONMENT", raising=False)
    found = flink_pipeline("localhost:1", workers=1, name="ours").options.view_as(PortableOptions)
    assert found.environment_type == "PROCESS"
    assert json.loads(found.environment_config)["env"] == {"MYXTTS_FOLDER": str(Path.cwd())}
    monkeypatch.setenv("FLINK_ENVIRONMENT", "EXTERNAL:localhost:50000")
    found = flink_pipeline("localhost:1", workers=1, name="ours").options.view_as(PortableOptions)
    environment = Environment.from_options(found).to_runner_api(PipelineContext())
    assert environment.urn == common_urns.environments.EXTERNAL.urn
    assert b"localhost:50000" in environment.payload


def test_down_refuses_while_jobs_run_unless_forced(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    service.answers["/jobs/overview"] = listed("FINISHED", "RUNNING", "RESTARTING")
    refused = command("flink", "down")
    assert refused.code == 2
    assert refused.err.startswith(
        f"error: ours, ours would end with the cluster at {service.master}; wait until the jobs have ended"
    )
    assert command("flink", "down", "--force").out == "nothing was running\n"


def left_behind(folder: Path) -> ClusterJob | None:
    """The job that the lock file names."""
    content = (folder / ".lock").read_bytes()
    return LockHolder.model_validate_json(content).job if content else None


@pytest.mark.parametrize("error", [KeyboardInterrupt, rest.Unreachable, ZeroDivisionError])
def test_a_job_that_may_still_arrive_stays_in_the_lock(
    error: type[BaseException], service: Service, tmp_path: Path
) -> None:
    service.answers["/jobs/overview"] = NOWHERE
    with (
        pytest.raises(error),
        write_lock(tmp_path, command="build") as lock,
        registered_job(lock, runner="flink", name="ours", work="w"),
    ):
        raise error
    noted = left_behind(tmp_path)
    assert noted is not None
    assert (noted.master, noted.name, noted.work) == (service.master, "ours", "w")
    assert abs((datetime.datetime.now(datetime.UTC) - noted.since).total_seconds()) < 10


@pytest.mark.parametrize("error", [None, UserError])
def test_a_job_that_was_not_submitted_or_has_ended_leaves_the_lock(
    error: type[Exception] | None, service: Service, tmp_path: Path
) -> None:
    service.answers["/jobs/overview"] = NOWHERE
    expected = pytest.raises(error) if error else contextlib.nullcontext()
    with (
        expected,
        write_lock(tmp_path, command="build") as lock,
        registered_job(lock, runner="flink", name="ours", work="w"),
    ):
        if error:
            raise error
    assert left_behind(tmp_path) is None


@pytest.fixture
def lock(service: Service, tmp_path: Path) -> Iterator[Lock]:
    """The lock of a run whose predecessor was killed while it submitted its job."""
    since = datetime.datetime.now(datetime.UTC)
    job = ClusterJob(master=service.master, name="ours", work="w", since=since)
    left = LockHolder.of_this_process("build").model_copy(update={"job": job})
    (tmp_path / ".lock").write_text(left.model_dump_json())
    with write_lock(tmp_path, command="build") as held:
        yield held


def test_a_job_that_arrives_after_its_driver_was_killed_is_waited_for(service: Service, lock: Lock) -> None:
    service.answers |= {
        "/jobs/overview": [NOWHERE, NOWHERE, NOWHERE, listed("RUNNING")],
        "/jobs/j0/status": states("RUNNING", "FINISHED"),
        "/jobs/j0/exceptions": {},
    }
    end_leftover_job(lock, work="w")
    assert service.asked.count("GET /jobs/j0/status") == 2
    assert not was_cancelled(service)


@pytest.mark.parametrize("work", ["another config's", None])
def test_a_job_of_other_work_is_cancelled(work: str | None, service: Service, lock: Lock) -> None:
    service.answers["/jobs/overview"] = [NOWHERE, listed("RUNNING")]
    runs_until_cancelled(service)
    end_leftover_job(lock, work=work)
    assert was_cancelled(service)


def test_a_job_that_never_arrives_is_given_up(
    service: Service, lock: Lock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leftover_jobs, "ARRIVAL_S", 0.5)
    service.answers["/jobs/overview"] = NOWHERE
    end_leftover_job(lock, work="w")
    assert len(service.asked) > 3
    assert "ours may be on its way" in capsys.readouterr().err
    service.asked.clear()
    monkeypatch.setattr(leftover_jobs, "ARRIVAL_S", 0.0)  # as for one that was noted long ago
    end_leftover_job(lock, work="w")
    assert len(service.asked) == 1
