"""Jobs by REST: against a fake service that answers as Flink does, and against a cluster."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import apache_beam as beam
import pytest

from pipelines.execution.flink import jobs
from pipelines.execution.flink.checks import cluster_has_beam_runner, count_slots
from pipelines.execution.flink.cluster import Cluster
from pipelines.execution.flink.environment import DEFAULT_MASTER, check_master, master_from_env
from pipelines.execution.flink.jobs import (
    FlinkJob,
    JobFailed,
    cancel_job,
    find_job,
    running_jobs,
    user_error_message,
    wait_for_job,
)
from pipelines.execution.flink.processes import free_port
from pipelines.execution.flink.rest import NotFound, Unreachable, rest_request
from pipelines.execution.flink.restart_strategy import check_restart_strategy
from pipelines.execution.runners import master_address, run_graph
from shared.errors import UserError
from tests.commands import Outcome
from tests.pipelines import builds, clusters


class Service:
    """A fake REST service with an answer per path; a list is answered one element after another."""

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(f"{self.command} {self.path}")
                answer = outer.answers.get(self.path)
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.end_headers()
                self.wfile.write(body)

            do_PATCH = do_GET  # noqa: N815

            def log_message(self, *args: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
        self.master = f"localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    yield found
    found.server.shutdown()
    found.server.server_close()


OURS = FlinkJob("j", "ours", "RUNNING")


def listed(*states: str, name: str = "ours") -> dict[str, object]:
    return {
        "jobs": [
            {"jid": f"j{number}", "name": name, "state": state, "start-time": number}
            for number, state in enumerate(states)
        ]
    }


def states(*found: str) -> list[object]:
    return [{"status": state} for state in found]


def test_the_newest_of_several_jobs_with_one_name_is_found(service: Service) -> None:
    service.answers["/jobs/overview"] = listed("FAILED", "RUNNING")
    assert find_job(service.master, name="ours") == FlinkJob("j1", "ours", "RUNNING")
    assert find_job(service.master, name="theirs") is None
    assert running_jobs(service.master) == [FlinkJob("j1", "ours", "RUNNING")]


def test_a_job_is_polled_until_it_has_finished(service: Service) -> None:
    service.answers |= {"/jobs/j/status": states("RUNNING", "RESTARTING", "FINISHED"), "/jobs/j/exceptions": {}}
    seen: list[str] = []
    found = wait_for_job(service.master, OURS, on_poll=lambda job: seen.append(job.state), interval_s=0)
    assert found.state == "FINISHED"
    assert seen == ["RUNNING", "RESTARTING", "FINISHED"]


def test_a_running_job_is_polled_for_its_state_only(service: Service) -> None:
    service.answers["/jobs/j/status"] = states("CREATED", "RUNNING", "RUNNING", "FINISHED")
    wait_for_job(service.master, OURS, interval_s=0)
    assert service.asked == 4 * ["GET /jobs/j/status"]


def test_a_user_error_cancels_a_job_that_would_be_retried(service: Service) -> None:
    entry = {"stacktrace": "Caused by: shared.errors.UserError: no room [while running 'x']\n\tat java"}
    service.answers |= {
        "/jobs/j/status": states("RUNNING", "RESTARTING", "RESTARTING", "CANCELED"),
        "/jobs/j/exceptions": {"root-exception": None, "exceptionHistory": {"entries": [entry]}},
        "/jobs/j?mode=cancel": {},
    }
    with pytest.raises(UserError, match=r"^no room$"):
        wait_for_job(service.master, OURS, interval_s=0)
    assert "PATCH /jobs/j?mode=cancel" in service.asked


def test_a_failed_job_is_reported_with_its_reason(service: Service) -> None:
    service.answers |= {"/jobs/j/status": states("FAILED"), "/jobs/j/exceptions": {"root-exception": "out of memory"}}
    with pytest.raises(JobFailed, match=r"ours \(j\) is FAILED: out of memory"):
        wait_for_job(service.master, OURS, interval_s=0)


def test_a_job_that_has_ended_is_not_cancelled_again(service: Service) -> None:
    service.answers["/jobs/j/status"] = states("FINISHED")
    assert cancel_job(service.master, OURS, interval_s=0).state == "FINISHED"
    assert service.asked == ["GET /jobs/j/status"]


def test_a_cluster_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_SILENCE_S", 0.05)
    with pytest.raises(Unreachable, match=r"^no Flink cluster answers at localhost:\d+ .*`make flink-up`"):
        wait_for_job(f"localhost:{free_port()}", OURS, interval_s=0.01)


def test_answers_of_another_service_are_reported(service: Service) -> None:
    service.answers["/overview"] = b"<html>"
    with pytest.raises(Unreachable):
        rest_request(service.master, "/overview")
    with pytest.raises(NotFound, match="knows nothing of /jobs/x"):
        rest_request(service.master, "/jobs/x")


@pytest.mark.parametrize("answer", [None, b"[1]", {}, {"name": "elasticsearch"}, {"jobs": 3}, "up", b'[{"key": 1}]'])
@pytest.mark.parametrize(
    "question",
    [
        count_slots,
        running_jobs,
        lambda master: find_job(master, name="ours"),
        check_restart_strategy,
        cluster_has_beam_runner,
        lambda master: wait_for_job(master, OURS, interval_s=0),
    ],
)
def test_another_service_at_the_port_is_not_mistaken_for_flink(
    question: Callable[[str], object], answer: object, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_SILENCE_S", 0.0)
    paths = ("/overview", "/jobs/overview", "/jobmanager/config", "/jobmanager/environment")
    service.answers = dict.fromkeys((*paths, "/jobs/j/status"), answer)
    expected = (Unreachable, NotFound) if answer is None else Unreachable
    with pytest.raises(expected, match=f"what answers at {service.master} is not Flink|knows nothing of /jobs/j"):
        question(service.master)


@pytest.mark.parametrize("answer", [None, {"name": "elasticsearch"}])
def test_status_and_doctor_report_another_service_in_one_line(
    answer: object, service: Service, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    service.answers = dict.fromkeys(("/overview", "/jobs/overview"), answer)
    monkeypatch.setenv("FLINK_MASTER", service.master)
    outcome = command("flink", "status")
    assert outcome.out.startswith(f"what answers at {service.master} is not Flink")
    port = service.master.rpartition(":")[2]
    assert f"cluster        port {port} is used by another program" in command("doctor", "--runner", "flink").out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ZeroDivisionError: 1", None),
        ("shared.errors.UserError: a: b [while running 'Map']\nmore", "a: b"),
        ("UserError: first\nUserError: last", "last"),
    ],
)
def test_the_message_of_a_user_error_is_found_in_a_traceback(text: str, expected: str | None) -> None:
    assert user_error_message(text) == expected


def test_the_master_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLINK_MASTER", raising=False)
    assert master_from_env() == DEFAULT_MASTER
    monkeypatch.setenv("FLINK_MASTER", "http://flink.example:80/")
    assert master_from_env() == master_address("flink") == "flink.example:80"
    assert master_address("local") is None


@pytest.mark.parametrize("master", ["flink", "flink:", ":8081", "flink:0", "flink:70000", "flink:x"])
def test_an_invalid_address_is_refused(master: str) -> None:
    with pytest.raises(UserError, match=r"expected host:port"):
        check_master(master)


STARTED, FINISH = "started", "finish"


def _wait_for_finish(folder: str) -> None:
    """Signal that the element is being processed, and return once the test allows it."""
    (Path(folder) / STARTED).touch()
    end_s = time.monotonic() + 300
    while not (Path(folder) / FINISH).exists() and time.monotonic() < end_s:
        time.sleep(0.02)


DRIVER = """
import sys
from tests.pipelines.execution.flink.test_flink_jobs import waiting_job
waiting_job(sys.argv[1], folder=sys.argv[2])
"""


def waiting_job(name: str, *, folder: str) -> None:
    run_graph(
        lambda pipeline: pipeline | beam.Create([folder]) | beam.Map(_wait_for_finish),
        runner="flink",
        workers=1,
        name=name,
    )


def start_driver(cluster: Cluster, *, folder: Path) -> tuple[subprocess.Popen[bytes], FlinkJob]:
    """A driver process and its job, which waits in a worker for `FINISH` in the folder."""
    name = f"test-{uuid.uuid4().hex}"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, name, str(folder)])
    end_s = time.monotonic() + 180
    while not (folder / STARTED).exists():
        assert time.monotonic() < end_s
        time.sleep(0.05)
    job = find_job(cluster.master, name=name)
    assert job is not None
    return driver, job


@pytest.mark.slow
def test_a_job_outlives_its_driver_and_can_be_waited_for(flink: Cluster, tmp_path: Path) -> None:
    driver, job = start_driver(flink, folder=tmp_path)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    assert find_job(flink.master, name=job.name) == job._replace(state="RUNNING")
    (tmp_path / FINISH).touch()
    assert wait_for_job(flink.master, job).state == "FINISHED"
    found = find_job(flink.master, name=job.name)
    assert found is not None
    assert found.ended


@pytest.mark.slow
def test_a_cancelled_job_stops_writing_and_its_driver_fails(flink: Cluster, tmp_path: Path) -> None:
    driver, job = start_driver(flink, folder=tmp_path)
    assert cancel_job(flink.master, job).state == "CANCELED"
    assert clusters.wait_for_no_worker()
    assert driver.wait(timeout=180) == 1
    with pytest.raises(JobFailed, match="is CANCELED"):
        wait_for_job(flink.master, job)


@pytest.mark.slow
def test_an_interrupt_of_the_driver_ends_its_job(flink: Cluster, tmp_path: Path) -> None:
    driver, job = start_driver(flink, folder=tmp_path)
    driver.send_signal(signal.SIGINT)
    driver.wait(timeout=180)
    assert find_job(flink.master, name=job.name) == job._replace(state="CANCELED")


def test_without_a_cluster_one_line_says_how_to_start_one(
    small: Path, monkeypatch: pytest.MonkeyPatch, command, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLINK_MASTER", f"localhost:{free_port()}")
    data = builds.copied(small, to=tmp_path / "data")
    outcome = command("validate", "--data", data, "--runner", "flink")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("error: no Flink cluster answers at localhost:")
    assert "`make flink-up` starts one" in outcome.err
    assert "Traceback" not in outcome.err
