"""Finds, follows and cancels jobs of a Flink cluster by its REST service; jobs outlive their driver."""

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
# After a failure a job is RESTARTING until the restart delay is over.
STATES_WITHOUT_FAILURE = frozenset({"INITIALIZING", "CREATED", "RUNNING", "FINISHED"})
INTERVAL_S = 0.5
MAX_SILENCE_S = 30.0  # a cluster that does not answer for so long is given up
INTERVAL_FRACTION = 0.02  # pause between polls as a fraction of the job's duration so far
MAX_INTERVAL_S = 1.0


class FlinkJob(NamedTuple):
    """A job as Flink lists it; `state` is RUNNING, RESTARTING, FINISHED, FAILED, CANCELED, …"""

    id: str
    name: str
    state: str

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class JobFailed(RuntimeError):
    """The job failed or was cancelled; the message holds Flink's reasons."""


def find_job(master: str, *, name: str) -> FlinkJob | None:
    """The newest job of that name; None if the cluster lists none (it forgets jobs an hour after their end).

    Raises:
        Unreachable: the cluster does not answer.
    """
    listed = [one for one in listed_jobs(master) if one.name == name]
    if not listed:
        return None
    newest = max(listed, key=lambda one: one.start_ms)
    return FlinkJob(newest.jid, name, newest.state)


def running_jobs(master: str) -> list[FlinkJob]:
    """Jobs that have not ended.

    Raises:
        Unreachable: the cluster does not answer.
    """
    jobs = [FlinkJob(one.jid, one.name, one.state) for one in listed_jobs(master)]
    return [job for job in jobs if not job.ended]


def wait_for_job(
    master: str,
    job: FlinkJob,
    *,
    on_poll: Callable[[FlinkJob], None] = lambda job: None,
    interval_s: float = INTERVAL_S,
) -> FlinkJob:
    """Poll until the job has finished; calls `on_poll` with the job at each poll.

    A UserError cancels the job at once; Flink would retry it.

    Raises:
        UserError: one was raised in the job.
        Unreachable: the cluster has not answered for `MAX_SILENCE_S`.
        NotFound: the cluster has forgotten the job, or was restarted.
        JobFailed: the job failed or was cancelled.
    """
    job = _poll_until_ended(master, job, on_poll=on_poll, interval_s=interval_s)
    if job.state != "FINISHED":
        reasons = _failure_traces(master, job) or "no reason given"
        raise JobFailed(f"Flink job {job.name} ({job.id}) is {job.state}: {reasons}")
    return job


def cancel_job(master: str, job: FlinkJob, *, interval_s: float = INTERVAL_S) -> FlinkJob:
    """Cancel a job and wait until it has ended, so that it writes nothing any more; no-op if it has ended.

    Raises:
        Unreachable, NotFound: as `wait_for_job`.
    """
    job = _refresh(master, job)
    if not job.ended:
        with contextlib.suppress(Conflict):  # it has just ended
            rest_request(master, f"/jobs/{job.id}?mode=cancel", method="PATCH")
    while not job.ended:
        time.sleep(interval_s)
        job = _refresh(master, job)
    return job


def _poll_until_ended(
    master: str, job: FlinkJob, *, on_poll: Callable[[FlinkJob], None], interval_s: float
) -> FlinkJob:
    """Poll the state of a job; the longer it runs, the less often, because each answer costs time."""
    start_s = last_answer_s = time.monotonic()
    while True:
        try:
            job = _refresh(master, job)
            user_error = (
                None if job.state in STATES_WITHOUT_FAILURE else user_error_message(_failure_traces(master, job))
            )
            last_answer_s = time.monotonic()
        except Unreachable:
            if time.monotonic() - last_answer_s > MAX_SILENCE_S:
                raise
        else:
            on_poll(job)
            if user_error is not None:
                cancel_job(master, job)
                raise UserError(user_error)
            if job.ended:
                return job
        time.sleep(min(max(interval_s, INTERVAL_FRACTION * (time.monotonic() - start_s)), MAX_INTERVAL_S))


def _refresh(master: str, job: FlinkJob) -> FlinkJob:
    """The job with its current state; other REST answers are up to 3 s old (`web.refresh-interval`) and far longer."""
    return job._replace(state=job_status(master, job.id))


def _failure_traces(master: str, job: FlinkJob) -> str:
    """Stack traces of all failures of a job, including those from which it recovered."""
    try:
        answer = rest_request(master, f"/jobs/{job.id}/exceptions")
    except NotFound:
        return ""
    entries = answer.get("exceptionHistory", {}).get("entries", [])
    return "\n".join([answer.get("root-exception") or "", *(one.get("stacktrace") or "" for one in entries)]).strip()


def user_error_message(text: str) -> str | None:
    """The message of a UserError in the text of an exception or traceback; None if there is none."""
    found = re.findall(r"UserError: (.*)", text)
    return found[-1].split(" [while running")[0].strip() if found else None
