"""The logger of a run: rows, TensorBoard events, and their removal when the run resumes from an earlier step."""

from __future__ import annotations

import contextlib
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.data.server_ingester import SubprocessServerDataIngester, get_server_binary
from tensorboard.util import tensor_util
from tensorboard.util.grpc_util import ChannelCredsType

from shared.errors import UserError
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.samples import Sample, Samples
from trainer.training.incidents import IncidentLog

PATIENCE_S = 120.0  # TensorBoard's data server answers while it still reads


def log_steps(run: Path, *, after: int, until: int, value: float) -> None:
    """A session that goes on after a step and ends at another; it starts a second or more after the one before it."""
    date_back(run / "tensorboard")
    with RunLogger(run, step=after, steps=100, validate_every=100) as monitor:
        for step in range(after + 1, until + 1):
            monitor.log_metrics("train", step=step, values={"loss": value, "mel": 0.0})
        monitor.log_metrics("validation", step=until, values={"loss": value})


def date_back(events: Path) -> None:
    """Rename event files as if they had begun earlier.

    TensorBoard reads the files of a run in the order of their names: second, host, process, number in the process.
    Sessions of one process within a second would be in a wrong order if their numbers are 9 and 10.
    """
    for path in events.glob("events.out.tfevents.*"):
        second = path.name.split(".")[3]
        path.rename(path.with_name(path.name.replace(second, str(int(second) - 60), 1)))


@pytest.mark.parametrize("reader", ["accumulator", "server"])
def test_tensorboard_shows_each_step_once_after_a_run_went_on_from_a_checkpoint(tmp_path: Path, reader: str) -> None:
    log_steps(tmp_path, after=0, until=10, value=1.0)
    log_steps(tmp_path, after=5, until=8, value=2.0)
    trained = [*((step, 1.0) for step in range(1, 6)), *((step, 2.0) for step in range(6, 9))]
    wanted = {"train/loss": trained, "train/mel": [(step, 0.0) for step in range(1, 9)], "validation/loss": [(8, 2.0)]}
    assert READERS[reader](tmp_path / "tensorboard", wanted=wanted) == wanted


@pytest.mark.parametrize("reader", ["accumulator", "server"])
def test_steps_that_are_rewound_and_repeated_are_shown_once_in_rows_and_in_tensorboard(
    tmp_path: Path, reader: str
) -> None:
    with RunLogger(tmp_path, step=0, steps=100, validate_every=100) as monitor:
        for step in range(1, 11):
            monitor.log_metrics("train", step=step, values={"loss": 1.0})
        monitor.rewind(5, owes_validation=False)
        for step in range(6, 9):
            monitor.log_metrics("train", step=step, values={"loss": 2.0})
    wanted = [*((step, 1.0) for step in range(1, 6)), *((step, 2.0) for step in range(6, 9))]
    rows = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [(row["step"], row["loss"]) for row in rows] == wanted
    shown = {"train/loss": wanted}
    assert READERS[reader](tmp_path / "tensorboard", wanted=shown) == shown


def test_a_validation_that_is_rewound_is_gone_from_tensorboard_before_the_next_one(tmp_path: Path) -> None:
    with RunLogger(tmp_path, step=0, steps=100, validate_every=5) as monitor:
        for step in (5, 10):
            monitor.log_metrics("validation", step=step, values={"loss": float(step)})
        monitor.rewind(5, owes_validation=False)
    # the server passes over starts of sessions: it drops later steps when their tag has an earlier one again
    assert shown_by_accumulator(tmp_path / "tensorboard")["validation/loss"] == [(5, 5.0)]


def test_a_validation_that_is_repeated_after_going_back_is_logged_once(tmp_path: Path) -> None:
    with RunLogger(tmp_path, step=0, steps=100, validate_every=5) as monitor:
        for step in (5, 10):
            monitor.log_metrics("validation", step=step, values={"loss": 1.0})
        monitor.rewind(5, owes_validation=True)
        monitor.log_metrics("validation", step=5, values={"loss": 2.0})
    rows = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [(row["step"], row["loss"]) for row in rows] == [(5, 2.0)]


def test_a_pending_validation_is_logged_once_if_a_kill_came_after_its_row(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=3, value=1.0)
    with RunLogger(tmp_path, step=3, steps=100, validate_every=100, owes_validation=True) as monitor:
        monitor.log_metrics("validation", step=3, values={"loss": 1.0})
    rows = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert [(row["kind"], row["step"]) for row in rows] == [*(("train", n) for n in (1, 2, 3)), ("validation", 3)]


Values = dict[str, list[tuple[int, float]]]


def shown_by_accumulator(folder: Path, **_: object) -> Values:
    """(step, value) of each tag by TensorBoard's reader in Python."""
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    return {
        tag: [(event.step, float(tensor_util.make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]
        for tag in events.Tags()["tensors"]
    }


def shown_by_server(folder: Path, *, wanted: Values) -> Values:
    """The same by the data server that TensorBoard's command starts; waits until it shows what is expected."""
    ingester = SubprocessServerDataIngester(
        get_server_binary(),
        str(folder),
        reload_interval=0,
        channel_creds_type=ChannelCredsType.LOCAL,
        samples_per_plugin={"scalars": 1000},
    )
    ingester.start()
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while (shown := _answer_of(ingester)) != wanted and time.monotonic() < deadline_s:
            time.sleep(0.05)
        return shown
    finally:
        ingester._stdin_handle.close()  # the server ends with its input


def _answer_of(ingester: SubprocessServerDataIngester) -> Values:
    runs = ingester.data_provider.read_scalars(
        RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000
    ).values()
    return {tag: [(datum.step, datum.value) for datum in data] for tags in runs for tag, data in tags.items()}


READERS = {"accumulator": shown_by_accumulator, "server": shown_by_server}


def media_of(folder: Path) -> dict[str, list[bytes]]:
    """The strings of each tag's only event: of a picture width, height and PNG, of a sound WAV and label."""
    events = EventAccumulator(str(folder)).Reload()
    protos = {tag: [event.tensor_proto for event in events.Tensors(tag)] for tag in events.Tags()["tensors"]}
    return {tag: list(tensor_util.make_ndarray(proto).ravel()) for tag, (proto,) in protos.items()}


def test_tensorboard_shows_synthesized_clips_beside_their_recordings(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    target, spoken = random.normal(size=[12, 8]), random.normal(size=[9, 8])
    alignment = random.uniform(size=[5, 3])
    sounds = {
        name: random.integers(-(2**15), 2**15, size, np.int16) for name, size in (("target", 700), ("spoken", 500))
    }
    one = Sample("a/1", "Yes.", target, spoken, alignment, np.array(True), sounds["target"], sounds["spoken"])
    with RunLogger(tmp_path, step=0, steps=100, validate_every=100) as monitor:
        monitor.log_samples(Samples(20, 24000, [one]))
    shown = media_of(tmp_path / "tensorboard")
    assert len(shown) == 4
    for name, sound in sounds.items():
        heard, rate_hz = tf.audio.decode_wav(shown[f"spoken/0/{name}"][0])
        assert rate_hz == 24000
        np.testing.assert_allclose(heard[:, 0] * 2.0**15, sound, atol=2)  # by 32768 there, and by 32767 back
    pictures = {"target_over_spoken": mel_comparison_image(target, spoken), "alignment": alignment_image(alignment)}
    for name, picture in pictures.items():
        *_, png = shown[f"spoken/0/{name}"]
        np.testing.assert_allclose(tf.io.decode_png(png)[:, :, 0], 255 * picture, atol=1)


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
def test_a_damaged_row_in_the_middle_is_dropped_alone_and_reported(
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
    """A limit of the system on file sizes in place of a full disk; it takes effect in the middle of a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_line_and_the_rows_before_it_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with RunLogger(tmp_path, step=0, steps=100, validate_every=100) as monitor:
        monitor.log_metrics("train", step=1, values={"loss": 1.0})
        with (
            files_up_to(path.stat().st_size + 10),
            pytest.raises(UserError, match=r"metrics\.jsonl: cannot be written \(File too large\); checkpoints are"),
        ):
            monitor.log_metrics("train", step=2, values={"loss": 2.0})
    with RunLogger(tmp_path, step=2, steps=100, validate_every=100):
        assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1]


def test_events_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").touch()
    with pytest.raises(UserError, match=r"tensorboard: cannot be written \(.*\); checkpoints are intact") as found:
        log_steps(tmp_path, after=0, until=1, value=1.0)
    assert "\n" not in str(found.value)


def test_rows_that_cannot_be_dropped_are_one_line(tmp_path: Path) -> None:
    log_steps(tmp_path, after=0, until=10, value=1.0)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    with files_up_to(100), pytest.raises(UserError, match=r"metrics\.jsonl: cannot be written"):
        RunLogger(tmp_path, step=9, steps=100, validate_every=100)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_an_incident_on_a_full_disk_is_one_line_and_those_before_it_stay(tmp_path: Path) -> None:
    (tmp_path / "incidents.jsonl").write_bytes(b"\xff\n")  # damage of another's making is neither lost nor fatal
    incidents = IncidentLog(tmp_path)
    incidents.add("skipped", step=1)
    before = (tmp_path / "incidents.jsonl").read_bytes()
    with files_up_to(len(before)), pytest.raises(UserError, match=r"incidents\.jsonl: cannot be written"):
        incidents.add("skipped", step=2)
    assert (tmp_path / "incidents.jsonl").read_bytes() == before == b'\xff\n{"step": 1, "kind": "skipped"}\n'
