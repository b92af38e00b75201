"""Files and folders that other processes write to at the same time."""

from __future__ import annotations

import errno
import itertools
import threading
from pathlib import Path

import pytest

from shared import files
from shared.files import remove_tree


def test_a_folder_is_removed_although_another_process_still_writes_into_it_for_a_moment(tmp_path: Path) -> None:
    folder, stop = tmp_path / "staging" / "progress", threading.Event()
    folder.mkdir(parents=True)

    def write() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            try:
                (folder / f"{number % 50}").write_text("1")
            except FileNotFoundError:
                return

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    end = threading.Timer(0.3, stop.set)
    end.start()
    try:
        remove_tree(tmp_path / "staging")
    finally:
        stop.set()
        for thread in (*writers, end):
            thread.join()
    assert not (tmp_path / "staging").exists()


def test_a_folder_that_never_gets_empty_is_an_error_and_an_absent_one_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def refuse(_: Path) -> None:
        attempts.append(1)
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    with pytest.raises(FileNotFoundError):
        remove_tree(tmp_path / "nowhere")
    monkeypatch.setattr(files, "_PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(files.shutil, "rmtree", refuse)
    with pytest.raises(OSError, match="not empty"):
        remove_tree(tmp_path)
    assert len(attempts) == 3
