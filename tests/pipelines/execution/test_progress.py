"""Progress: the counts of workers and the bar that the user sees."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pipelines.execution import progress, progress_counter
from pipelines.execution.progress import show_progress
from pipelines.execution.progress_counter import ProgressCounter


def test_counts_of_several_shards_add_up(tmp_path: Path) -> None:
    for name, count in (("a", 3), ("b", 0), ("c", 40)):
        counter = ProgressCounter(tmp_path / "progress", name=name)
        for _ in range(count):
            counter.add()
        counter.flush()
    assert sum(int(path.read_text()) for path in (tmp_path / "progress").iterdir()) == 43


def test_a_counter_writes_at_most_twice_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, writes = [100.0], []
    monkeypatch.setattr(progress_counter.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(Path, "write_text", lambda path, text: writes.append(int(text)))
    counter = ProgressCounter(tmp_path, name="a")
    for _ in range(100):
        counter.add()
        now_s[0] += 0.1
    assert len(writes) <= 21
    assert writes == sorted(writes)


def test_the_bar_ends_at_the_sum_of_all_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(tmp_path / "progress", label="7 utterances", total=7):
        for name, count in (("a", 3), ("b", 4)):
            counter = ProgressCounter(tmp_path / "progress", name=name)
            for _ in range(count):
                counter.add()
            counter.flush()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "7 utterances" in shown.err
    assert "7/7" in shown.err


def test_a_count_can_be_read_while_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_counter, "INTERVAL_S", 0.0005)
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    with show_progress(tmp_path / "progress", label="many", total=1):
        counter, end_s = ProgressCounter(tmp_path / "progress", name="a"), time.monotonic() + 0.5
        while time.monotonic() < end_s:
            counter.flush()
    assert raised == []


def test_errors_of_a_busy_store_stop_neither_the_bar_nor_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[OSError | int] = [OSError(5, "busy"), 3, OSError(5, "busy")]

    def count(folder: Path) -> int:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(progress_counter, "INTERVAL_S", 0.01)
    monkeypatch.setattr(progress, "_sum_counts", count)
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    with show_progress(tmp_path, label="x", total=7):
        while len(answers) > 1:
            time.sleep(0.01)
    assert raised == []
    assert "3/7" in capsys.readouterr().err


def test_a_job_that_fails_leaves_no_thread_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyError), show_progress(tmp_path / "progress", label="x", total=1):
        raise KeyError
    assert not [thread for thread in threading.enumerate() if "follow" in thread.name]


def test_a_counter_creates_no_folder_of_a_dataset_that_was_unmounted(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ProgressCounter(tmp_path / "data" / "progress", name="a")
    assert not (tmp_path / "data").exists()
