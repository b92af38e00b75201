"""Starts and stops a Flink cluster on this machine: a JobManager, TaskManagers of one slot each, Beam's job server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator

import pydantic

from pipelines.execution.flink import job_server
from pipelines.execution.flink.environment import check_master, cluster_folder
from pipelines.execution.flink.install import Installation
from pipelines.execution.flink.java import ADD_OPENS, JVM_FLAGS, java_home
from pipelines.execution.flink.processes import ProcessHandle, free_port, is_port_open, start_process, terminate_all
from pipelines.execution.flink.responses import overview
from pipelines.execution.flink.rest import Unreachable
from pipelines.execution.flink.restart_strategy import DELAY_S
from shared.errors import UserError
from shared.files import write_bytes, write_json

TASK_MANAGERS = 2
START_S = 180.0

# By default two timers of each Java process wake up a hundred times a second, and take a core from a Python worker.
SLOW_TICKS = "-Dpekko.scheduler.tick-duration=100ms"

# One slot per TaskManager: two slots would share one Python worker and its interpreter lock. Blocking exchanges and the
# restart strategy let a job survive the loss of a TaskManager. REST reports failures up to one refresh interval late,
# by default 3 s.
CONFIG = """\
env: {{java: {{opts: {{all: {opts}}}}}}}
jobmanager: {{bind-host: localhost, rpc: {{address: localhost, port: {rpc_port}}},
  memory: {{process: {{size: 1024m}}}}}}
taskmanager: {{bind-host: localhost, host: localhost, numberOfTaskSlots: 1,
  memory: {{process: {{size: 1600m}}, jvm-metaspace: {{size: 512m}}}}}}
rest: {{address: localhost, bind-address: localhost, port: {rest_port}}}
web: {{refresh-interval: 200}}
io: {{tmp: {{dirs: {folder}/tmp}}}}
parallelism: {{default: 1}}
restart-strategy: {{type: fixed-delay, fixed-delay: {{attempts: 5, delay: {restart_delay_s} s}}}}
heartbeat: {{interval: 2000, timeout: 10000}}
"""


class Processes(pydantic.BaseModel):
    """The processes of a cluster; stored in its folder."""

    endpoint: str = ""  # host:port of the job server
    job_manager: ProcessHandle | None = None
    job_server: ProcessHandle | None = None
    task_managers: list[ProcessHandle] = []

    def all(self) -> list[ProcessHandle]:
        """All processes; those that take work first."""
        others = (self.job_server, self.job_manager)
        return [*self.task_managers, *(one for one in others if one is not None)]


class Cluster:
    """The cluster with its REST service at `master`, an address of this machine."""

    def __init__(self, master: str, *, files: Installation):
        self.master, self.folder = master, cluster_folder(master)
        self._files, self._state = files, self.folder / "processes.json"

    def processes(self) -> Processes:
        """The processes that are alive."""
        if not self._state.is_file():
            return Processes()
        found = Processes.model_validate_json(self._state.read_bytes())
        found.task_managers = [one for one in found.task_managers if one.alive]
        found.job_manager = found.job_manager if found.job_manager and found.job_manager.alive else None
        found.job_server = found.job_server if found.job_server and found.job_server.alive else None
        return found

    def up(self, *, task_managers: int = TASK_MANAGERS) -> bool:
        """Start what is not running, and wait until the cluster takes jobs; False if everything was running.

        Raises:
            UserError: the port is in use, or a process does not start.
        """
        with self._exclusive():
            found = self.processes()
            if found.job_manager and found.job_server and len(found.task_managers) >= task_managers:
                return False
            if found.job_manager is None:
                self._terminate(found)
                found = self._new_job_manager()
            while len(found.task_managers) < task_managers:
                self._add_task_manager(found)
            if found.job_server is None:
                self._add_job_server(found)
            self._wait_until_ready(found)
            return True

    def down(self) -> int:
        """Stop all processes and return their number; removes temporary files of jobs, keeps the logs."""
        if not self.folder.exists():
            return 0
        with self._exclusive():
            found = self.processes()
            self._terminate(found)
            self._state.unlink(missing_ok=True)
            for name in ("tmp", "artifacts"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            return len(found.all())

    def _new_job_manager(self) -> Processes:
        port = int(self.master.rpartition(":")[2])
        if is_port_open(port):
            raise UserError(f"port {port} is used by another program; FLINK_MASTER=localhost:PORT names another one")
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        for name in ("conf", "log", "pid", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(self._files.log_config, self.folder / "conf")
        config = CONFIG.format(
            opts=" ".join([*ADD_OPENS, *JVM_FLAGS, SLOW_TICKS]),
            rpc_port=free_port(),
            rest_port=port,
            folder=self.folder,
            restart_delay_s=DELAY_S,
        )
        write_bytes(self.folder / "conf" / "config.yaml", config.encode())
        found = Processes(job_manager=self._start_script("jobmanager", "localhost", str(port)))
        self._save(found)
        return found

    def _add_task_manager(self, found: Processes) -> None:
        found.task_managers.append(self._start_script("taskmanager"))
        self._save(found)

    def _add_job_server(self, found: Processes) -> None:
        port = free_port()
        words = job_server.command(
            job_server.bundled_class_path(self._files),
            log_config=self._files.log_config,
            master=self.master,
            port=port,
            folder=self.folder,
        )
        log = self.folder / "log" / "job-server.out"
        found.job_server = start_process(words, marker=str(self.folder), log=log, environment=os.environ)
        found.endpoint = f"localhost:{port}"
        self._save(found)

    def _start_script(self, script: str, *place: str) -> ProcessHandle:
        """Run one of Flink's scripts, which prepares a Java process and becomes it."""
        own = {
            "JAVA_HOME": str(java_home()),
            "FLINK_CONF_DIR": str(self.folder / "conf"),
            "FLINK_LIB_DIR": str(self._files.jars),
            "FLINK_LOG_DIR": str(self.folder / "log"),
            "FLINK_PID_DIR": str(self.folder / "pid"),
            "STD_REDIRECT_TO_FILE": "true",
        }
        marker = f"-Dmyxtts.cluster={self.folder}"
        words = [str(self._files.root / "bin" / f"{script}.sh"), "start-foreground", *place, marker]
        log = self.folder / "log" / f"{script}.out"
        return start_process(words, marker=marker, log=log, environment=os.environ | own)

    def _wait_until_ready(self, found: Processes) -> None:
        """Wait until REST counts a slot for each TaskManager and the port of the job server is open."""
        end_s = time.monotonic() + START_S
        while self._slots() < len(found.task_managers):
            dead = len(self.processes().all()) < len(found.all())
            if dead or time.monotonic() > end_s:
                self._terminate(found)
                raise UserError(f"Flink did not start at {self.master}; its logs are in {self.folder / 'log'}")
            time.sleep(0.1)
        server = found.job_server
        assert server is not None
        port = int(found.endpoint.rpartition(":")[2])
        job_server.wait_until_it_listens(port, log=self.folder / "log", alive=lambda: server.alive)

    def _slots(self) -> int:
        """Number of slots; Flink lists a TaskManager before its slot."""
        try:
            return overview(self.master).slots
        except Unreachable:
            return 0

    def _terminate(self, found: Processes) -> None:
        terminate_all(found.all())

    def _save(self, found: Processes) -> None:
        write_json(self._state, found)

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def local_master(master: str) -> str:
    """Check that an address is of this machine.

    Raises:
        UserError: a cluster cannot be started at that address from here.
    """
    checked = check_master(master)
    if checked.rpartition(":")[0] not in ("localhost", "127.0.0.1"):
        raise UserError(f"{master}: a cluster is started and ended on this machine only; expected localhost:PORT")
    return checked
