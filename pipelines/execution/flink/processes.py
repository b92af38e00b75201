"""Starts and ends processes that outlive the command that started them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pydantic

EXEC_S = 2.0


class ProcessHandle(pydantic.BaseModel):
    """A process id with a `marker` in the command line, so that a reused id is not mistaken for the process."""

    pid: int
    marker: str

    @property
    def alive(self) -> bool:
        return self.marker in _command_line(self.pid)


def terminate_all(processes: Sequence[ProcessHandle], *, patience_s: float = 10.0) -> None:
    """Terminate the processes, kill those that do not end in time, and return when all have ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for one in processes:
            if one.alive:
                os.kill(one.pid, number)
        end_s = time.monotonic() + patience_s
        while any(one.alive for one in processes) and time.monotonic() < end_s:
            time.sleep(0.05)


def start_process(words: Sequence[str], *, marker: str, log: Path, environment: Mapping[str, str]) -> ProcessHandle:
    """Start a process in its own session, so that it survives the end of the terminal."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(environment), start_new_session=True
        )
    return ProcessHandle(pid=process.pid, marker=marker)


def free_port() -> int:
    """A free TCP port of this machine."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def is_port_open(port: int) -> bool:
    """True if a process of this machine listens at the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("localhost", port)) == 0


def _command_line(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    if not Path("/proc/self").exists():
        words = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout
    folder, end_s = Path(f"/proc/{pid}"), time.monotonic() + EXEC_S
    try:
        while not (line := (folder / "cmdline").read_bytes()):
            # a zombie has no command line, and neither has a process for a moment during exec
            ended = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            if ended or time.monotonic() > end_s:
                return ""
            time.sleep(0.01)
    except OSError:
        return ""
    return line.replace(b"\0", b" ").decode(errors="replace")
