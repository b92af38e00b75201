"""Jobs of a Flink cluster, which live on when the process that sent them is gone. By REST alone."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from pipelines.execution.flink.responses import job_status, listed_jobs
from pipelines.execution.flink.rest import Conflict, NotFound, Unreachable, rest_request
from shared.errors import UserError

ENDED = frozenset({"FINISHED", "FAILED", "CANCELED", "SUSPENDED"})
UNDISTURBED = frozenset({"INITIALIZING", "CREATED", "RUNNING", "FINISHED"})  # after a failure it waits as RESTARTING
INTERVAL_S = 0.5
SILENCE_S = 30.0  # so long a cluster may be out of reach while a job is waited for
PATIENCE, MAX_INTERVAL_S = (
    0.02,
    1.0,
)  # pauses grow to this share of what a job has taken so far, at most so many seconds


class FlinkJob(NamedTuple):
    """As Flink lists it; `state` is Flink's word: RUNNING, RESTARTING, FINISHED, FAILED, CANCELED, …"""

    id: str
    name: str
    state: str

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class JobFailed(RuntimeError):
    """The job ended otherwise than well; the text holds what Flink says of the reason."""


def find_job(master: str, *, name: str) -> FlinkJob | None:
    """The newest job of that name, None where the cluster knows none (it forgets ended ones after an hour).

    Raises:
        Unreachable: the cluster cannot be asked.
    """
    listed = [one for one in listed_jobs(master) if one.name == name]
    if not listed:
        return None
    newest = max(listed, key=lambda one: one.start_ms)
    return FlinkJob(newest.jid, name, newest.state)


def running_jobs(master: str) -> list[FlinkJob]:
    """Those that have not ended.

    Raises:
        Unreachable: the cluster cannot be asked.
    """
    jobs = [FlinkJob(one.jid, one.name, one.state) for one in listed_jobs(master)]
    return [job for job in jobs if not job.ended]


def wait_for_job(
    master: str, job: FlinkJob, *, follow: Callable[[FlinkJob], None] = lambda job: None, interval_s: float = INTERVAL_S
) -> FlinkJob:
    """Poll until the job has ended well, calling `follow` with what it is at each poll.

    A mistake of the user's, which Flink would try again and again, ends it at once.

    Raises:
        UserError: one was raised in the job.
        Unreachable: the cluster has not answered for half a minute.
        NotFound: it has forgotten the job, or was started anew.
        JobFailed: the job failed or was cancelled.
    """
    job = _watch(master, job, follow=follow, interval_s=interval_s)
    if job.state != "FINISHED":
        reasons = _reasons(master, job) or "no reason given"
        raise JobFailed(f"Flink job {job.name} ({job.id}) is {job.state}: {reasons}")
    return job


def cancel_job(master: str, job: FlinkJob, *, interval_s: float = INTERVAL_S) -> FlinkJob:
    """Cancel, and wait until it has ended: after that nothing of it writes any more. An ended one stays as it is.

    Raises:
        Unreachable, NotFound: as `wait_for_job`.
    """
    job = _now(master, job)
    if not job.ended:
        with contextlib.suppress(Conflict):  # it has just ended by itself
            rest_request(master, f"/jobs/{job.id}?mode=cancel", method="PATCH")
    while not job.ended:
        time.sleep(interval_s)
        job = _now(master, job)
    return job


def _watch(master: str, job: FlinkJob, *, follow: Callable[[FlinkJob], None], interval_s: float) -> FlinkJob:
    """A long job is asked after less often, and one that runs for nothing but its state: each answer takes its time."""
    began_s = answered_s = time.monotonic()
    while True:
        try:
            job = _now(master, job)
            mistake = None if job.state in UNDISTURBED else user_error_message(_reasons(master, job))
            answered_s = time.monotonic()
        except Unreachable:
            if time.monotonic() - answered_s > SILENCE_S:
                raise
        else:
            follow(job)
            if mistake is not None:
                cancel_job(master, job)
                raise UserError(mistake)
            if job.ended:
                return job
        time.sleep(min(max(interval_s, PATIENCE * (time.monotonic() - began_s)), MAX_INTERVAL_S))


def _now(master: str, job: FlinkJob) -> FlinkJob:
    """What else Flink says of a job is up to 3 s old (`web.refresh-interval`), and a hundred times as long."""
    return job._replace(state=job_status(master, job.id))


def _reasons(master: str, job: FlinkJob) -> str:
    """Every failure that Flink remembers of the job, also those that it recovered from."""
    try:
        answer = rest_request(master, f"/jobs/{job.id}/exceptions")
    except NotFound:
        return ""
    entries = answer.get("exceptionHistory", {}).get("entries", [])
    return "\n".join([answer.get("root-exception") or "", *(one.get("stacktrace") or "" for one in entries)]).strip()


def user_error_message(text: str) -> str | None:
    """The one line of a UserError that a runner carried out of a DoFn, maybe within a traceback's text."""
    found = re.findall(r"UserError: (.*)", text)
    return found[-1].split(" [while running")[0].strip() if found else None
