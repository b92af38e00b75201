"""The lock of a dataset: one writer or any number of readers, and the name of its holder."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import io
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from shared.errors import UserError
from shared.files import write_json
from shared.layout import Layout
from shared.lock_holder import ClusterJob, LockFile, LockHolder, read_holder
from shared.locks import finish_publication, read_lock, write_lock

HOLDER = """
import sys, time
from pathlib import Path
from shared.locks import {kind}
with {kind}(Path(sys.argv[1]){options}):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator:
    """Starts another process that holds the lock of a folder."""
    running: list[subprocess.Popen[str]] = []

    def hold(kind: str, *, options: str = "") -> subprocess.Popen[str]:
        script = HOLDER.format(kind=kind, options=options)
        words = [sys.executable, "-c", script, str(tmp_path)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout is not None
        assert running[-1].stdout.readline() == "held\n"
        return running[-1]

    yield hold
    for process in running:
        process.kill()
        process.communicate()


def holder_of(root: Path) -> LockHolder:
    return LockHolder.model_validate_json((root / ".lock").read_bytes())


def test_a_lock_names_its_holder_and_is_empty_once_it_is_free(tmp_path: Path) -> None:
    with write_lock(tmp_path, command="build"):
        found = holder_of(tmp_path)
        assert (found.command, found.pid, found.job) == ("build", os.getpid(), None)
    assert (tmp_path / ".lock").read_bytes() == b""


def test_a_second_writer_is_refused_with_the_first_ones_name_and_time(tmp_path: Path, held) -> None:
    process = held("write_lock", options=", command='replay'")
    message = re.escape(f"(process {process.pid}, since {holder_of(tmp_path).since}) is writing here; wait for it")
    with pytest.raises(UserError, match=message), write_lock(tmp_path, command="build", break_lock=True):
        pass
    with pytest.raises(UserError, match=message), read_lock(tmp_path):
        pass


def test_readers_share_and_keep_writers_away(tmp_path: Path, held) -> None:
    with write_lock(tmp_path, command="build"):
        pass
    held("read_lock")
    with read_lock(tmp_path):
        pass
    with pytest.raises(UserError, match="another process reads this dataset"), write_lock(tmp_path, command="build"):
        pass


def test_the_lock_of_a_killed_writer_is_free_and_names_it(tmp_path: Path, held) -> None:
    process = held("write_lock", options=", command='build'")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with write_lock(tmp_path, command="build") as lock:
        assert lock.stale is not None
        assert (lock.stale.command, lock.stale.pid) == ("build", process.pid)
    with write_lock(tmp_path, command="build") as lock:
        assert lock.stale is None


def test_a_writer_on_another_machine_is_believed_until_the_user_says_otherwise(tmp_path: Path) -> None:
    gone = LockHolder(command="build", user="ada", host="elsewhere", pid=7, since="2026-01-02T03:04:05+00:00")
    (tmp_path / ".lock").write_text(gone.model_dump_json())
    message = r"locked by build of ada on elsewhere \(process 7, since 2026-01-02T03:04:05\+00:00\).* --break-lock"
    with pytest.raises(UserError, match=message), write_lock(tmp_path, command="repair"):
        pass
    assert holder_of(tmp_path) == gone
    with write_lock(tmp_path, command="repair", break_lock=True) as lock:
        assert lock.stale == gone


def test_a_job_that_may_still_run_stays_in_the_lock(tmp_path: Path) -> None:
    since = datetime.datetime.now(datetime.UTC)
    job = ClusterJob(master="localhost:8081", name="myxtts-build-1", work="a digest", since=since)
    with contextlib.suppress(KeyboardInterrupt), write_lock(tmp_path, command="build") as lock:
        lock.set_job(job)
        raise KeyboardInterrupt
    with write_lock(tmp_path, command="build") as lock:
        assert lock.stale is not None
        assert lock.stale.job == job
        lock.set_job(job)
        lock.set_job(None)
    assert (tmp_path / ".lock").read_bytes() == b""


@pytest.mark.parametrize("content", [b"{", b"[" * 100_000, b"\xff", b'{"pid": "x"}', b"0" * (1 << 20)])
def test_a_lock_with_truncated_content_is_free(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".lock").write_bytes(content)
    with write_lock(tmp_path, command="build") as lock:
        assert lock.stale is None


def test_a_dataset_that_nobody_has_written_to_here_is_locked_too(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("{}")
    message = "another process reads this dataset"
    with read_lock(tmp_path), pytest.raises(UserError, match=message), write_lock(tmp_path, command="build"):
        pass


@pytest.mark.parametrize("was_written_to", [True, False])
def test_a_dataset_that_can_only_be_read_is_locked_where_it_has_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_written_to: bool
) -> None:
    (tmp_path / "dataset.json").write_text("{}")
    if was_written_to:
        (tmp_path / ".lock").touch()
    opened = Path.open

    def refuse(path: Path, mode: str = "r", *args, **settings):
        if mode != "rb":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, mode, *args, **settings)

    with contextlib.ExitStack() as readers:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", refuse)
            readers.enter_context(read_lock(tmp_path))
        message = "another process reads this dataset"
        refused = pytest.raises(UserError, match=message) if was_written_to else contextlib.nullcontext()
        with refused, write_lock(tmp_path, command="build"):
            pass


def test_a_folder_without_a_dataset_gets_no_lock_from_a_reader(tmp_path: Path) -> None:
    with read_lock(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_an_absent_dataset_has_no_lock(tmp_path: Path) -> None:
    with read_lock(tmp_path / "none"):
        assert not (tmp_path / "none").exists()


class Failing(io.FileIO):
    """A file whose disk fails at one call."""

    failing = ""

    def write(self, content: Any, /) -> int:
        if self.failing == "write":
            raise OSError(errno.ENOSPC, "full")
        return super().write(content)

    def truncate(self, size: int | None = None, /) -> int:
        if self.failing == "truncate":
            raise OSError(errno.EIO, "died")
        return super().truncate(size)


@pytest.mark.parametrize(("failing", "left"), [("write", "older"), ("truncate", "new")])
def test_an_interrupted_write_leaves_the_old_holder_or_the_new_one(failing: str, left: str, tmp_path: Path) -> None:
    """A holder that is lost may have left a job that still writes."""
    older, new = (LockHolder(command="build", user=name, host="h", pid=7, since="") for name in ("older" * 20, "new"))
    (tmp_path / ".lock").write_text(older.model_dump_json())
    raw = Failing(tmp_path / ".lock", "r+")
    raw.failing = failing
    with pytest.raises(OSError, match=r"full|died"):
        LockFile(cast("BinaryIO", raw)).write(new.model_dump_json().encode())
    raw.close()
    with (tmp_path / ".lock").open("rb") as file:
        found = read_holder(LockFile(file))
    assert found is not None
    assert found.user.startswith(left)


def test_a_lock_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.lock").symlink_to(tmp_path / "mine")
    message = r"\.lock: .*expected a folder that can be written to"
    with pytest.raises(UserError, match=message), write_lock(tmp_path / "data", command="build"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """Keep the files of this process from growing, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_already_is_one_line_and_leaves_the_lock_free(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    message = re.escape(f"{tmp_path}: {os.strerror(errno.EFBIG)}; fix it and run again")
    with no_room(), pytest.raises(UserError, match=message), write_lock(tmp_path, command="build"):
        pytest.fail("there is no lock")
    assert (tmp_path / ".lock").read_bytes() == b""
    with write_lock(tmp_path, command="build") as lock:
        assert lock.stale is None


def fails(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_lock_that_cannot_be_released_does_not_hide_an_earlier_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks() -> None:
        monkeypatch.setattr(LockFile, "write", fails)
        raise UserError("the corpus")

    with pytest.raises(UserError, match="the corpus"), write_lock(tmp_path, command="build"):
        breaks()


def test_a_lock_that_cannot_be_released_is_reported_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = re.escape(f"{tmp_path}/.lock: {os.strerror(errno.EIO)}; all is done, but the lock still names")
    with pytest.raises(UserError, match=message), write_lock(tmp_path, command="build"):
        monkeypatch.setattr(LockFile, "write", fails)


@pytest.fixture(params=[errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP])
def without_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a file system without locks."""

    def refuse(*_: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("without_locks")
def test_on_a_file_system_without_locks_the_content_of_the_lock_decides(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("{}")
    message = r"build of .* \(process \d+, since .*--break-lock"
    with write_lock(tmp_path, command="build"):
        with pytest.raises(UserError, match=message), read_lock(tmp_path):
            pytest.fail("a writer is at it")
        with pytest.raises(UserError, match=message), write_lock(tmp_path, command="repair"):
            pytest.fail("a writer is at it")
    with read_lock(tmp_path), write_lock(tmp_path, command="build"):
        pass  # who reads is not known there


@pytest.mark.usefixtures("without_locks")
def test_without_locks_the_next_writer_finishes_a_publication_and_no_reader(tmp_path: Path) -> None:
    """Of two readers at once, one would remove the `_SUCCESS` that the other had moved to its place."""
    layout = Layout(tmp_path)
    journal = {"removals": [], "moves": [[f".staging/{'0' * 32}/_SUCCESS", "_SUCCESS"]]}
    write_json(layout.journal, journal)
    gone = LockHolder(command="build", user="ada", host="elsewhere", pid=7, since="")
    layout.lock.write_text(gone.model_dump_json())
    with pytest.raises(UserError, match="build of ada on elsewhere"):
        finish_publication(layout)
    layout.lock.write_text("")
    with pytest.raises(UserError, match="run the same command again that published"), read_lock(tmp_path):
        pytest.fail("the dataset is not whole")
    assert layout.journal.exists()
    with write_lock(tmp_path, command="build"):
        assert not layout.journal.exists()


def test_a_publication_that_cannot_be_finished_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(Layout(tmp_path).journal, {})
    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(UserError, match=re.escape(f"{tmp_path}/.lock cannot be written to ({os.strerror(errno.EIO)})")):
        finish_publication(Layout(tmp_path))


def test_a_writer_removes_the_temporary_files_of_killed_writers_and_nothing_else(tmp_path: Path) -> None:
    left = [f".publication.json.{'0a' * 16}.tmp", f"validation/.x.json.{'1' * 32}.tmp", f"shards/.s.{'f' * 32}.tmp"]
    kept = [".publication.json.tmp", f"shards/x.{'0' * 32}.tmp", f"mine/.x.{'0' * 32}.tmp", f".d.{'0' * 32}.tmp/x"]
    elsewhere = tmp_path / "elsewhere"
    for name in (*(f"data/{one}" for one in (*left, *kept)), f"elsewhere/.x.{'0' * 32}.tmp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "data/manifest").symlink_to(elsewhere)
    with write_lock(tmp_path / "data", command="build"):
        pass
    assert [name for name in (*left, *kept) if (tmp_path / "data" / name).exists()] == kept
    assert len(list(elsewhere.iterdir())) == 1


@pytest.mark.usefixtures("without_locks")
def test_without_locks_temporary_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / f".report.html.{'0' * 32}.tmp").touch()
    with write_lock(tmp_path, command="build"):
        pass
    assert (tmp_path / f".report.html.{'0' * 32}.tmp").exists()
