"""Runners by name."""

from __future__ import annotations

import os

import apache_beam as beam
import click
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipelines.cli import build, validate
from pipelines.runners import PROCESSES_PAY_FROM, RUNNERS, choose_workers, run_graph
from shared.errors import UserError


@pytest.mark.parametrize("command", [build, validate])
def test_the_commands_offer_the_runners_that_there_are(command: click.Command) -> None:
    (option,) = (one for one in command.params if one.name == "runner")
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(RUNNERS)


def test_the_runner_is_always_named() -> None:
    assert type(RUNNERS["local"](1, "a").runner) is FnApiRunner
    assert type(RUNNERS["local"](2, "b").runner) is FnApiRunner


def test_worker_processes_keep_their_notes_off_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    run_graph(lambda pipeline: pipeline | beam.Create([7]) | beam.Map(str), runner="local", workers=2, name="test")
    assert capfd.readouterr().err == ""


def test_workers_are_as_asked_else_by_the_size_of_the_job() -> None:
    assert choose_workers(3, utterances=1) == 3
    assert choose_workers(None, utterances=PROCESSES_PAY_FROM - 1) == 1
    assert choose_workers(None, utterances=PROCESSES_PAY_FROM) == os.cpu_count()


def _raise(element: int, *, error: type[BaseException]) -> None:
    raise error(f"element {element} is to blame")


def test_a_mistake_of_the_user_leaves_the_graph_as_its_one_line() -> None:
    with pytest.raises(UserError) as caught:
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise, error=UserError),
            runner="local",
            workers=1,
            name="test",
        )
    assert str(caught.value) == "element 7 is to blame"


def test_a_defect_leaves_the_graph_as_a_defect() -> None:
    with pytest.raises(ZeroDivisionError, match="element 7"):
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise, error=ZeroDivisionError),
            runner="local",
            workers=1,
            name="test",
        )


def _interrupt(element: int) -> None:
    raise KeyboardInterrupt


def test_the_users_own_interrupt_leaves_the_graph_as_that() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_interrupt), runner="local", workers=1, name="test"
        )
