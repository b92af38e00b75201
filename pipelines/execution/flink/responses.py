"""What a cluster says of itself, checked: whatever else answers at its port is not taken for Flink."""

from __future__ import annotations

from typing import Any, TypeVar

import pydantic

from pipelines.execution.flink.rest import NotFound, Unreachable, rest_request


class Overview(pydantic.BaseModel):
    """The whole cluster."""

    version: str = pydantic.Field(alias="flink-version")
    task_managers: int = pydantic.Field(alias="taskmanagers")
    slots: int = pydantic.Field(alias="slots-total")
    free_slots: int = pydantic.Field(alias="slots-available")


class JobEntry(pydantic.BaseModel):
    """A job, in Flink's words."""

    jid: str
    name: str
    state: str
    start_ms: int = pydantic.Field(alias="start-time")


class _Listing(pydantic.BaseModel):
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
    """Raises Unreachable where no Flink answers; so do those below."""
    return _certain(master, "/overview", of=Overview)


def listed_jobs(master: str) -> list[JobEntry]:
    """Those that run, and those that ended within the last hour."""
    return _certain(master, "/jobs/overview", of=_Listing).jobs


def settings(master: str) -> dict[str, str]:
    """The JobManager's configuration."""
    return {one.key: one.value for one in _certain(master, "/jobmanager/config", of=list[_Setting])}


def class_path(master: str) -> list[str]:
    """The JobManager's."""
    return _certain(master, "/jobmanager/environment", of=_Environment).classpath


def job_status(master: str, job_id: str) -> str:
    """Flink's word for the state of a job.

    Raises:
        NotFound: it knows no such job.
    """
    path = f"/jobs/{job_id}/status"
    return _checked(rest_request(master, path), of=_Status, master=master, path=path).status


def _certain(master: str, path: str, *, of: type[Answer]) -> Answer:
    """The answer to a question that every cluster can answer."""
    try:
        answer = rest_request(master, path)
    except NotFound as error:
        raise _no_flink(master, path) from error
    return _checked(answer, of=of, master=master, path=path)


def _checked(answer: Any, *, of: type[Answer], master: str, path: str) -> Answer:
    try:
        return pydantic.TypeAdapter(of).validate_python(answer)
    except pydantic.ValidationError as error:
        raise _no_flink(master, path) from error


def _no_flink(master: str, path: str) -> Unreachable:
    message = f"what answers at {master} is not Flink, going by what it says to {path}"
    return Unreachable(f"{message}; FLINK_MASTER=host:port names a cluster")
