"""Asynchronous saving: nothing is lost, errors surface at the next step, at most one copy exists."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import pytest

from shared.errors import UserError
from tests.trainer.monitoring.test_session import wait_for
from trainer.checkpoint import async_writer as saving
from trainer.checkpoint.async_writer import AsyncCheckpointWriter
from trainer.checkpoint.checkpoint import Progress, Snapshot, write_checkpoint
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.data.position import Position


class Disk:
    """A simulated disk that writes on request, and may be full."""

    def __init__(self) -> None:
        self.may_write, self.is_full = threading.Event(), False
        self.begun: list[int] = []

    def write(self, run: Path, snapshot: Snapshot, *, max_to_keep: int | None) -> Path:
        self.begun.append(snapshot.progress.step)
        assert self.may_write.wait(60)
        if self.is_full:
            raise UserError(f"step {snapshot.progress.step} cannot be written")
        return write_checkpoint(run, snapshot, max_to_keep=max_to_keep)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(saving, "write_checkpoint", made.write)
    yield made
    made.may_write.set()


def progress(step: int) -> Progress:
    return Progress(step, Position(), "order")


def state(value: float = 0.0) -> dict[str, keras.Variable]:
    return {"weight": keras.Variable(np.full(4, value, np.float32))}


def test_training_goes_on_while_a_checkpoint_is_written_and_the_end_waits_for_it(disk: Disk, tmp_path: Path) -> None:
    with AsyncCheckpointWriter(tmp_path, contract="c", max_to_keep=3) as saver:
        saver.save(state(), progress=progress(1))
        saver.raise_write_error()
        assert list_checkpoints(tmp_path) == []
        disk.may_write.set()
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [1]


def test_at_most_one_copy_of_the_state_exists(disk: Disk, tmp_path: Path) -> None:
    with AsyncCheckpointWriter(tmp_path, contract="c", max_to_keep=3) as saver:
        saver.save(state(), progress=progress(1))
        second = threading.Thread(target=saver.save, args=(state(),), kwargs={"progress": progress(2)})
        second.start()
        second.join(0.2)
        assert second.is_alive()
        assert disk.begun == [1]
        disk.may_write.set()
        second.join()
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [1, 2]


def test_a_full_disk_is_reported_at_the_next_step(disk: Disk, tmp_path: Path) -> None:
    disk.is_full = True
    with AsyncCheckpointWriter(tmp_path, contract="c", max_to_keep=3) as saver:
        saver.save(state(), progress=progress(1))
        saver.raise_write_error()
        disk.may_write.set()
        wait_for(lambda: all(one.done() for one in saver._pending))
        with pytest.raises(UserError, match="step 1 cannot be written"):
            saver.raise_write_error()


def test_a_full_disk_is_reported_at_the_end(disk: Disk, tmp_path: Path) -> None:
    disk.is_full = True
    saver = AsyncCheckpointWriter(tmp_path, contract="c", max_to_keep=3)
    saver.save(state(), progress=progress(1))
    disk.may_write.set()
    with pytest.raises(UserError, match=r"^step 1 cannot be written$"):
        saver.__exit__(None, None, None)


def test_a_full_disk_does_not_hide_the_reason_for_the_end(disk: Disk, tmp_path: Path) -> None:
    disk.is_full = True
    saver = AsyncCheckpointWriter(tmp_path, contract="c", max_to_keep=3)
    saver.save(state(), progress=progress(1))
    disk.may_write.set()
    with pytest.raises(UserError, match="a shard is gone; and step 1 cannot be written"):
        saver.__exit__(UserError, UserError("a shard is gone"), None)


LIMITED = """
import resource, signal, sys
from pathlib import Path
import keras, numpy as np
from trainer.checkpoint.checkpoint import Progress, Snapshot, write_checkpoint
from trainer.data.position import Position
from shared.errors import UserError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def write(step, size):
    progress = Progress(step, Position(), "o", best_step=step)
    snapshot = Snapshot({str(n): np.ones(size, np.float32) for n in range(4)}, progress, "c")
    write_checkpoint(Path(sys.argv[1]), snapshot, max_to_keep=1)
write(1, 1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write(2, 100_000)
except UserError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_file_size_limit_leaves_the_previous_checkpoint_intact(tmp_path: Path) -> None:
    """The operating system's real limit, reached in the middle of a write."""
    ended = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "step-00000002.safetensors: cannot be written (File too large)" in ended.stdout
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == ["best.safetensors", "step-00000001.safetensors"]


WEIGHED = r"""
import re, sys
from pathlib import Path
import keras, numpy as np
from trainer.checkpoint.checkpoint import (Progress, load_checkpoint)
from trainer.checkpoint.checkpoint_files import (list_checkpoints)
from trainer.data.position import Position
from trainer.checkpoint.async_writer import AsyncCheckpointWriter

def status(name):
    return int(re.search(name + r":\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

def peak(act):
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    act()
    return status("VmHWM") - before

class Model:
    variables = [keras.Variable(np.ones((1 << 20,), np.float32), name=f"v{n}") for n in range(128)]

run = Path(sys.argv[1])
def save():
    with AsyncCheckpointWriter(run, contract="c", max_to_keep=1) as saver:
        state = {f"model/{v.path}": v for v in Model.variables}
        saver.save(state, progress=Progress(1, Position(), "o"))
print(peak(save), peak(lambda: load_checkpoint(list_checkpoints(run)[0].path, model=Model, contract="c")))
"""


@pytest.mark.slow
def test_saving_holds_one_copy_of_the_state_and_loading_single_arrays(tmp_path: Path) -> None:
    """With 512 MiB of state in arrays of 4 MiB.

    glibc gives each array pages of its own, and returns them when the array is freed: otherwise the peak would depend
    on where in the heap the threads' arrays happen to lie.
    """
    words = [sys.executable, "-c", WEIGHED, str(tmp_path)]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    ended = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    saving_mib, loading_mib = map(float, ended.stdout.split())
    print(f"beyond 512 MiB of state: saving {saving_mib:.0f} MiB at most, loading {loading_mib:.0f} MiB at most")
    assert saving_mib < 1.1 * 512
    assert loading_mib < 8 * 4
