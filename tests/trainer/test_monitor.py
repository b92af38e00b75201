"""What a run tells, and what it takes back when it goes on from an earlier step."""

from __future__ import annotations

import contextlib
import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.data.server_ingester import SubprocessServerDataIngester, get_server_binary
from tensorboard.util import tensor_util
from tensorboard.util.grpc_util import ChannelCredsType

from shared.errors import UserError
from trainer.incidents import Incidents
from trainer.monitor import Monitor


def log_steps(run: Path, *, after: int, until: int, value: float) -> None:
    """A session that goes on after a step and is ended at another."""
    with Monitor(run, step=after, steps=100, validate_every=100) as monitor:
        for step in range(after + 1, until + 1):
            monitor.log("train", step=step, values={"loss": value, "mel": 0.0})
        monitor.log("validation", step=until, values={"loss": value})


@pytest.mark.parametrize("reader", ["accumulator", "server"])
def test_tensorboard_shows_each_step_once_after_a_run_went_on_from_a_checkpoint(tmp_path: Path, reader: str) -> None:
    log_steps(tmp_path, after=0, until=10, value=1.0)
    log_steps(tmp_path, after=5, until=8, value=2.0)
    shown = shown_by_accumulator if reader == "accumulator" else shown_by_server
    values = shown(tmp_path / "tensorboard")
    assert values["train/loss"] == [*((step, 1.0) for step in range(1, 6)), *((step, 2.0) for step in range(6, 9))]
    assert values["validation/loss"] == [(8, 2.0)]


def test_a_validation_that_is_owed_is_shown_once_where_a_kill_came_after_its_row(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=3, value=1.0)
    with Monitor(tmp_path, step=3, steps=100, validate_every=100, owes_validation=True) as monitor:
        monitor.log("validation", step=3, values={"loss": 1.0})
    rows = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [(row["kind"], row["step"]) for row in rows] == [*(("train", n) for n in (1, 2, 3)), ("validation", 3)]


def shown_by_accumulator(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of each tag by TensorBoard's reader in Python."""
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    return {
        tag: [(event.step, float(tensor_util.make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]
        for tag in events.Tags()["tensors"]
    }


def shown_by_server(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """The same by the server that its command starts."""
    ingester = SubprocessServerDataIngester(
        get_server_binary(),
        str(folder),
        reload_interval=0,
        channel_creds_type=ChannelCredsType.LOCAL,
        samples_per_plugin={"scalars": 1000},
    )
    ingester.start()
    (tags,) = ingester.data_provider.read_scalars(
        RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000
    ).values()
    ingester._stdin_handle.close()  # it ends with its input
    return {tag: [(datum.step, datum.value) for datum in data] for tag, data in tags.items()}


def test_the_rows_of_a_killed_run_beyond_its_checkpoint_are_dropped(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=10, value=1.0)
    log_steps(tmp_path, after=5, until=8, value=2.0)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(row["step"], row["loss"]) for row in rows if row["kind"] == "train"] == [
        *((step, 1.0) for step in range(1, 6)),
        *((step, 2.0) for step in range(6, 9)),
    ]


@pytest.mark.parametrize(
    "damage", [b'{"step": 3, "ki', b"\xff\xfe\x00", b"null", b"[3]", b'{"kind": "train"}', b'{"step": "3"}', b""]
)
def test_a_damaged_row_in_the_middle_costs_itself_and_is_told(
    tmp_path: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    log_steps(tmp_path, after=0, until=4, value=1.0)
    path = tmp_path / "metrics.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], damage, *lines[3:]]) + b"\n")
    capsys.readouterr()
    log_steps(tmp_path, after=4, until=4, value=2.0)
    assert "damaged rows dropped: 1" in " ".join(capsys.readouterr().err.split())
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2, 4, 4, 4]


def test_a_row_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=4, value=1.0)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    log_steps(tmp_path, after=4, until=5, value=2.0)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2, 3, 4, 5, 5]


@contextlib.contextmanager
def files_up_to(size_bytes: int) -> Iterator[None]:
    """The system's own limit in the place of a full disk: met in the middle of a write, no stand-in."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_row_that_finds_no_room_is_told_in_one_line_and_those_before_it_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with Monitor(tmp_path, step=0, steps=100, validate_every=100) as monitor:
        monitor.log("train", step=1, values={"loss": 1.0})
        with (
            files_up_to(path.stat().st_size + 10),
            pytest.raises(UserError, match=r"metrics\.jsonl: cannot be written \(File too large\); checkpoints are"),
        ):
            monitor.log("train", step=2, values={"loss": 2.0})
    with Monitor(tmp_path, step=2, steps=100, validate_every=100):
        assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1]


def test_events_that_cannot_be_written_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").touch()
    with pytest.raises(UserError, match=r"tensorboard: cannot be written \(.*\); checkpoints are intact") as found:
        log_steps(tmp_path, after=0, until=1, value=1.0)
    assert "\n" not in str(found.value)


def test_rows_that_cannot_be_taken_back_are_told_in_one_line(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=10, value=1.0)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    with files_up_to(100), pytest.raises(UserError, match=r"metrics\.jsonl: cannot be written"):
        Monitor(tmp_path, step=9, steps=100, validate_every=100)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_an_incident_that_finds_no_room_is_told_in_one_line_and_those_before_it_stay(tmp_path: Path) -> None:
    (tmp_path / "incidents.jsonl").write_bytes(b"\xff\n")  # damage of another's making is neither lost nor fatal
    incidents = Incidents(tmp_path)
    incidents.add("skipped", step=1)
    before = (tmp_path / "incidents.jsonl").read_bytes()
    with files_up_to(len(before)), pytest.raises(UserError, match=r"incidents\.jsonl: cannot be written"):
        incidents.add("skipped", step=2)
    assert (tmp_path / "incidents.jsonl").read_bytes() == before == b'\xff\n{"step": 1, "kind": "skipped"}\n'
