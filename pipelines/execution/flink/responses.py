"""Validated answers of Flink's REST service, so that another program at its port is not mistaken for Flink."""

from __future__ import annotations

from typing import Any, TypeVar

import pydantic

from pipelines.execution.flink.rest import NotFound, Unreachable, rest_request


class Overview(pydantic.BaseModel):
    """State of the cluster."""

    version: str = pydantic.Field(alias="flink-version")
    task_managers: int = pydantic.Field(alias="taskmanagers")
    slots: int = pydantic.Field(alias="slots-total")
    free_slots: int = pydantic.Field(alias="slots-available")


class JobEntry(pydantic.BaseModel):
    """A job in Flink's list."""

    jid: str
    name: str
    state: str
    start_ms: int = pydantic.Field(alias="start-time")


class _JobList(pydantic.BaseModel):
    jobs: list[JobEntry]


class _Setting(pydantic.BaseModel):
    key: str
    value: str


class _Environment(pydantic.BaseModel):
    classpath: list[str]


class _Status(pydantic.BaseModel):
    status: str


Answer = TypeVar("Answer")


def overview(master: str) -> Overview:
    """State of the cluster; this and the functions below raise Unreachable if no Flink answers."""
    return _request(master, "/overview", of=Overview)


def listed_jobs(master: str) -> list[JobEntry]:
    """Jobs that are running or ended within the last hour."""
    return _request(master, "/jobs/overview", of=_JobList).jobs


def settings(master: str) -> dict[str, str]:
    """The configuration of the JobManager."""
    return {one.key: one.value for one in _request(master, "/jobmanager/config", of=list[_Setting])}


def class_path(master: str) -> list[str]:
    """The class path of the JobManager."""
    return _request(master, "/jobmanager/environment", of=_Environment).classpath


def job_status(master: str, job_id: str) -> str:
    """Flink's name for the state of a job.

    Raises:
        NotFound: the cluster does not know the job.
    """
    path = f"/jobs/{job_id}/status"
    return _validate(rest_request(master, path), of=_Status, master=master, path=path).status


def _request(master: str, path: str, *, of: type[Answer]) -> Answer:
    """Request a path that every cluster answers."""
    try:
        answer = rest_request(master, path)
    except NotFound as error:
        raise _not_flink(master, path) from error
    return _validate(answer, of=of, master=master, path=path)


def _validate(answer: Any, *, of: type[Answer], master: str, path: str) -> Answer:
    try:
        return pydantic.TypeAdapter(of).validate_python(answer)
    except pydantic.ValidationError as error:
        raise _not_flink(master, path) from error


def _not_flink(master: str, path: str) -> Unreachable:
    message = f"what answers at {master} is not Flink, judging by its answer to {path}"
    return Unreachable(f"{message}; FLINK_MASTER=host:port names a cluster")
