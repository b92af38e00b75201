"""Runners by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apache_beam as beam
import click
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from pipelines.cli import build, validate
from pipelines.execution.runners import (
    MIN_UTTERANCES_FOR_PROCESSES,
    RUNNERS,
    choose_workers,
    local_worker_command,
    run_graph,
)
from shared.errors import UserError


@pytest.mark.parametrize("command", [build, validate])
def test_the_commands_offer_all_runners(command: click.Command) -> None:
    (option,) = (one for one in command.params if one.name == "runner")
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(RUNNERS)


def test_the_runner_is_always_named() -> None:
    assert type(RUNNERS["local"](1, "a").runner) is FnApiRunner
    assert type(RUNNERS["local"](2, "b").runner) is FnApiRunner


@pytest.mark.slow
def test_worker_processes_log_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    run_graph(lambda pipeline: pipeline | beam.Create([7]) | beam.Map(str), runner="local", workers=2, name="test")
    assert capfd.readouterr().err == ""


@pytest.fixture
def impostors(tmp_path: Path) -> Path:
    """A folder with packages named like ours."""
    for name in ("shared", "preprocess", "pipelines"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('an impostor')\n")
    return tmp_path


@pytest.mark.slow
def test_a_local_worker_imports_nothing_from_its_current_folder(impostors: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        ["sh", "-c", local_worker_command()],
        cwd=impostors,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "impostor" not in answer.stderr
    assert "CONTROL_API_SERVICE_DESCRIPTOR" in answer.stderr, "it came as far as to look for its runner"


# The launcher up to the start of Beam's worker, which would import the other packages.
LAUNCHED = """
from pipelines.execution.flink import launcher
launcher.read_provision_info = lambda *asked, **names: {}
launcher.worker.main = lambda: __import__("importlib").import_module("preprocess.record")
launcher.main()
print(__import__("os").getcwd())
"""


@pytest.mark.slow
def test_flinks_worker_changes_to_the_folder_of_the_build_and_imports_nothing_from_it(impostors: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        [sys.executable, "-P", "-c", LAUNCHED, "--id=1-1", "--provision_endpoint=x"],
        env=environment | {"MYXTTS_FOLDER": str(impostors)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.split() == [str(impostors)]  # what a worker prints goes there


def test_the_number_of_workers_is_as_requested_else_by_the_size_of_the_job() -> None:
    assert choose_workers(3, utterances=1) == 3
    assert choose_workers(None, utterances=MIN_UTTERANCES_FOR_PROCESSES - 1) == 1
    assert choose_workers(None, utterances=MIN_UTTERANCES_FOR_PROCESSES) == os.cpu_count()


def _raise(element: int, *, error: type[BaseException]) -> None:
    raise error(f"element {element} is to blame")


def test_a_user_error_leaves_the_graph_as_one_line() -> None:
    with pytest.raises(UserError) as caught:
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise, error=UserError),
            runner="local",
            workers=1,
            name="test",
        )
    assert str(caught.value) == "element 7 is to blame"


def test_other_exceptions_leave_the_graph_unchanged() -> None:
    with pytest.raises(ZeroDivisionError, match="element 7"):
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_raise, error=ZeroDivisionError),
            runner="local",
            workers=1,
            name="test",
        )


def _interrupt(element: int) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_leaves_the_graph_as_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_graph(
            lambda pipeline: pipeline | beam.Create([7]) | beam.Map(_interrupt), runner="local", workers=1, name="test"
        )


class Interrupted:
    """Interrupts its own finaliser, which swallows exceptions, as compiled code does."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)


def create_and_drop(element: int) -> int:
    Interrupted()
    return element


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_swallowed_interrupt_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_graph(
            lambda pipeline: pipeline | beam.Create([1]) | beam.Map(create_and_drop),
            runner="local",
            workers=1,
            name="test",
        )
    run_graph(lambda pipeline: pipeline | beam.Create([1]), runner="local", workers=1, name="next")
