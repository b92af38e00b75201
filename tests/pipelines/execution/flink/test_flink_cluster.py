"""A local cluster: up, status, doctor, down; its job server, workers and processes."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import apache_beam as beam
import grpc
import pytest
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer
from google.protobuf import json_format

from pipelines.execution.flink import launcher
from pipelines.execution.flink.checks import cluster_has_beam_runner
from pipelines.execution.flink.cluster import Cluster, local_master
from pipelines.execution.flink.install import installation
from pipelines.execution.flink.job_server import CHILD_SCRIPT
from pipelines.execution.flink.processes import ProcessHandle, free_port, is_port_open, start_process, terminate_all
from pipelines.execution.flink.rest import rest_request
from pipelines.execution.flink.runner import job_server
from pipelines.execution.runners import run_graph
from shared.errors import UserError
from tests.pipelines import clusters


def running(word: str) -> list[str]:
    """Command lines of live processes that contain the word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] if word in line else []
    return found


@pytest.mark.slow
def test_up_keeps_a_running_cluster_and_status_and_doctor_find_it(
    flink: Cluster, command: Callable, tmp_path: Path
) -> None:
    """The fixture checks at its end that `down` leaves no process."""
    up = command("flink", "up")
    assert up.code == 0
    first, *lines = up.out.splitlines()
    assert first == "it was running"
    assert [line for line in lines if line.startswith("TaskManagers")] == ["TaskManagers  2"]
    status = command("flink", "status")
    assert "2 of 2" in status.out
    assert str(flink.processes().job_manager.pid) in status.out
    assert command("doctor", "--runner", "flink", "--data", tmp_path / "data").code == 0


@pytest.mark.slow
def test_workers_are_children_of_a_task_manager_or_of_a_worker_pool(
    flink: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parent_of_a_worker(tmp_path / "own") in {one.pid for one in flink.processes().task_managers}
    with worker_pool() as pool:
        monkeypatch.setenv("FLINK_ENVIRONMENT", f"EXTERNAL:{pool}")
        assert parent_of_a_worker(tmp_path / "pool's") == os.getpid()


@pytest.mark.slow
@pytest.mark.soak
def test_up_status_doctor_and_down(
    flink: Cluster, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second cluster beside that of the other tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("FLINK_MASTER", f"localhost:{free_port()}")
    master, mark = os.environ["FLINK_MASTER"], str(tmp_path)
    assert command("flink", "status").out.startswith(f"no Flink cluster answers at {master}")
    missing = command("doctor", "--runner", "flink", "--data", tmp_path / "data")
    assert missing.code == 1
    assert next(line for line in missing.out.splitlines() if not line.startswith("ok")).startswith("   cluster")

    try:
        up = command("flink", "up", "--task-managers", "1")
        assert up.code == 0
        assert len(running(mark)) == 3
        again = command("flink", "up", "--task-managers", "1")
        assert again.out == f"it was running\n{up.out}"
        assert "1 of 1" in command("flink", "status").out
        assert command("doctor", "--runner", "flink", "--data", tmp_path / "data").code == 0
        assert rest_request(flink.master, "/overview")["taskmanagers"] >= 1

        assert parent_of_a_worker(tmp_path / "own") == cluster_processes()[0].pid
        with worker_pool() as pool:
            monkeypatch.setenv("FLINK_ENVIRONMENT", f"EXTERNAL:{pool}")
            assert parent_of_a_worker(tmp_path / "pool's") == os.getpid()
    finally:
        ended = command("flink", "down").out
    assert ended == "3 processes ended\n"
    assert running(mark) == []
    assert command("flink", "down").out == "nothing was running\n"
    assert not is_port_open(int(master.rpartition(":")[2]))


def cluster_processes() -> list[ProcessHandle]:
    return Cluster(os.environ["FLINK_MASTER"], files=installation()).processes().task_managers


@contextlib.contextmanager
def worker_pool() -> Iterator[str]:
    """host:port of a worker pool in this process, which is the parent of its workers."""
    launched = Path(sys.executable).with_name(clusters.WORKER)
    pool = BeamFnExternalWorkerPoolServicer.start(
        use_process=True, port=free_port(), container_executable=str(launched)
    )
    yield pool[0]
    pool[1].stop(None)


def parent_of_a_worker(path: Path) -> int:
    run_graph(
        lambda pipeline: pipeline | beam.Create([str(path)]) | beam.Map(_write_parent),
        runner="flink",
        workers=1,
        name=f"test-{path.name}",
    )
    return int(path.read_text())


def _write_parent(path: str) -> None:
    Path(path).write_text(str(os.getppid()))


@pytest.mark.slow
def test_an_unknown_cluster_gets_a_job_server_for_the_time_of_the_job(
    flink: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another state folder, the cluster of the tests is unknown; its class path still has Beam's jars."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cluster_has_beam_runner(flink.master)
    assert "FlinkJobServerDriver" in "".join(command_lines_during_a_job(tmp_path))
    assert running(str(tmp_path)) == []
    monkeypatch.setenv("FLINK_JOB_SERVER_JAR", __file__)
    with pytest.raises(UserError, match="has Beam's jars on its class path; unset FLINK_JOB_SERVER_JAR"):
        job_server(flink.master)


@pytest.mark.slow
@pytest.mark.soak
def test_beams_jars_are_submitted_with_the_job_to_a_plain_flink_cluster(
    flink: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("FLINK_MASTER", f"localhost:{free_port()}")
    cluster = plain_cluster(os.environ["FLINK_MASTER"], jars=tmp_path / "jars")
    try:
        assert not cluster_has_beam_runner(cluster.master)
        assert "/runner/*" in "".join(command_lines_during_a_job(tmp_path))
    finally:
        cluster.down()
    assert running(str(tmp_path)) == []


def plain_cluster(master: str, *, jars: Path) -> Cluster:
    """A cluster of one TaskManager, with Flink's own jars and none of Beam's."""
    files = installation()
    jars.mkdir()
    for jar in (*files.jars.glob("flink-dist-*.jar"), *files.jars.glob("log4j-*.jar")):
        (jars / jar.name).symlink_to(jar)
    files.jars = jars
    cluster = Cluster(master, files=files)
    cluster.folder.mkdir(parents=True)
    cluster._add_task_manager(cluster._new_job_manager())
    wait_until(lambda: cluster._slots() == 1, seconds=120)
    return cluster


def command_lines_during_a_job(folder: Path) -> list[str]:
    """Command lines of the processes that mention the folder, as a worker of a job sees them."""

    def graph(pipeline: beam.Pipeline) -> None:
        _ = pipeline | beam.Create([str(folder / "seen")]) | beam.Map(_write_job_servers, word=str(folder))

    run_graph(graph, runner="flink", workers=1, name=f"test-{folder.name}")
    return (folder / "seen").read_text().splitlines()


def _write_job_servers(path: str, *, word: str) -> None:
    Path(path).write_text("\n".join(running(word)))


def test_a_child_process_ends_when_its_stdin_is_closed(tmp_path: Path) -> None:
    word = f"sleep {1e6 + os.getpid():.0f}"
    child = subprocess.Popen(["sh", "-c", CHILD_SCRIPT, "sh", *word.split()], stdin=subprocess.PIPE)
    wait_until(lambda: len(running(word)) == 2)
    assert child.stdin is not None
    child.stdin.close()
    child.wait(timeout=60)
    wait_until(lambda: running(word) == [])


def wait_until(truth: Callable[[], bool], *, seconds: float = 60) -> None:
    end_s = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_a_port_in_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"port {port} is used by another program; FLINK_MASTER=localhost:PORT"):
            Cluster(f"localhost:{port}", files=installation()).up()


def test_a_cluster_is_started_on_this_machine_only() -> None:
    assert local_master("localhost:8081") == "localhost:8081"
    with pytest.raises(UserError, match=r"flink\.example:8081: a cluster is started and ended on this machine only"):
        local_master("flink.example:8081")


def test_a_process_is_identified_by_its_command_line_too(tmp_path: Path) -> None:
    ours = start_process(["sleep", "1000"], marker="sleep 1000", log=tmp_path / "log", environment=os.environ)
    wait_until(lambda: ours.alive)
    other = ProcessHandle(pid=ours.pid, marker="java")
    terminate_all([other], patience_s=0.1)
    assert ours.alive
    terminate_all([ours])
    assert not ours.alive


def test_a_process_is_alive_during_exec(tmp_path: Path) -> None:
    """Flink's scripts call exec three times."""
    script = tmp_path / "again.sh"
    script.write_text('[ $1 = 0 ] && exec sleep $2 || exec sh "$0" $(($1 - 1)) $2\n')
    ours = start_process(
        ["sh", str(script), "400", "4567"], marker="4567", log=tmp_path / "log", environment=os.environ
    )
    seen = []
    while "sleep" not in Path(f"/proc/{ours.pid}/cmdline").read_text():
        seen.append(ours.alive)
    terminate_all([ours])
    assert len(seen) > 20
    assert all(seen)


class _Provision(beam_provision_api_pb2_grpc.ProvisionServiceServicer):
    """The provision service of a TaskManager, for a worker with id 3-1."""

    def GetProvisionInfo(self, request: object, context: grpc.ServicerContext) -> object:  # noqa: N802
        answer = beam_provision_api_pb2.GetProvisionInfoResponse()
        if dict(context.invocation_metadata())["worker_id"] == "3-1":
            json_format.ParseDict({"beam:option:job_name:v1": "ours"}, answer.info.pipeline_options)
            answer.info.control_endpoint.url = "localhost:7"
            answer.info.logging_endpoint.url = "localhost:8"
            answer.info.runner_capabilities.extend(["one", "two"])
        return answer


@pytest.fixture
def provision() -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(1))
    beam_provision_api_pb2_grpc.add_ProvisionServiceServicer_to_server(_Provision(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    yield f"localhost:{port}"
    server.stop(None)


def test_the_launcher_passes_on_the_answer_of_the_provision_service(provision: str) -> None:
    found = launcher.read_provision_info(provision, worker_id="3-1")
    assert found.pop("PIPELINE_OPTIONS").split() == ["{", '"beam:option:job_name:v1":', '"ours"', "}"]
    assert found == {
        "WORKER_ID": "3-1",
        "CONTROL_API_SERVICE_DESCRIPTOR": 'url: "localhost:7"\n',
        "LOGGING_API_SERVICE_DESCRIPTOR": 'url: "localhost:8"\n',
        "RUNNER_CAPABILITIES": "one two",
    }


@pytest.mark.slow
def test_a_launcher_without_a_task_manager_ends() -> None:
    words = [
        sys.executable,
        "-m",
        "pipelines.execution.flink.launcher",
        "--id=1-1",
        f"--provision_endpoint=localhost:{free_port()}",
    ]
    answer = subprocess.run(
        words,
        env=os.environ | {launcher.FOLDER: str(Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert answer.returncode == 1
    assert "UNAVAILABLE" in answer.stderr
