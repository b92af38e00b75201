"""Kept programs: a second process loads them, and never one that was changed, cut off, or left by a killed process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainer.platform import first_calls
from trainer.platform.gpu_autotuning import FLAGS
from trainer.platform.program_cache import CHECKSUM, MAX_PROGRAMS, PROCESS, cache_folder, close_cache, open_cache
from trainer.platform.visible_gpus import GpuModel

H200 = GpuModel("NVIDIA H200", driver="580.159")
PROGRAM = """
import json, os, signal, sys
from trainer.platform.tf_setup import start_tensorflow
start_tensorflow(keep_programs=True)
import tensorflow as tf

from trainer.platform.first_calls import FirstCalls

tf.zeros([1], tf.float16)

@tf.function(jit_compile=True)
def double(x):
    return tf.while_loop(lambda n, _: n < 1, lambda n, x: (n + 1, x + x), (0, x))[1]

if sys.argv[1] == "kept, traced after others":
    for number in range(3):
        tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: -x)).get_concrete_function(tf.constant(number))
with FirstCalls("double").cache_programs(3):
    result = double(tf.ones([3])).numpy().tolist()
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "killed later":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1].startswith("kept"):  # XLA replaces a program that it compiles again
    from trainer.platform.program_cache import cache_folder
    kept = {path.stat().st_ino for path in cache_folder().iterdir()}
    own = next(path for path in cache_folder().iterdir() if path.name.startswith("process-"))
    assert {path.stat().st_ino for path in own.iterdir()} <= kept, "XLA compiled the program again"
print(json.dumps(result))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    return cache_folder()


def run(way: str = "ends") -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, way], capture_output=True, text=True, check=False)
    assert "oneDNN" not in ended.stderr  # TensorFlow's notes on a machine with AVX-512
    if not way.startswith("killed"):
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout) == [2.0, 2.0, 2.0]


def programs(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix != CHECKSUM]


@pytest.mark.slow
def test_a_program_is_written_once_and_loaded_by_the_next_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", " ".join(FLAGS))  # of a machine with a GPU: an unknown flag ends the process
    folder = cache_folder()
    run()
    (program,) = programs(folder)
    before = program.stat().st_ino
    assert program.with_name(program.name + CHECKSUM).is_file()
    assert folder.stat().st_mode & 0o777 == 0o700
    for way in ("kept", "kept, traced after others"):
        run(way)  # under another name, XLA would add a program
        assert [path.stat().st_ino for path in programs(folder)] == [before], way
    assert len(list(folder.iterdir())) == 2


@pytest.mark.slow
def test_a_program_is_kept_after_its_first_call_and_one_that_a_killed_process_left_is_not_loaded(folder: Path) -> None:
    run("killed")
    (left,) = folder.iterdir()
    assert left.name.startswith(PROCESS)
    assert len(list(left.iterdir())) == 1
    assert programs(folder) == []
    run("killed later")
    (program,) = programs(folder)
    assert program.with_name(program.name + CHECKSUM).is_file()
    for one in (left, *folder.glob(f"{PROCESS}*")):
        os.utime(one, (0, 0))
    run("kept")
    assert not left.exists()
    assert programs(folder) == [program]


def filled(folder: Path, *names: str) -> None:
    """A folder with these programs, as a process leaves it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = folder / f"{PROCESS}x"
    own.mkdir()
    for number, name in enumerate(names):
        (own / name).write_bytes(name.encode() * 100)
        os.utime(own / name, (number, number))
    close_cache(own)


def opened(folder: Path) -> list[str]:
    """The programs that XLA of a new process may load."""
    own = open_cache(folder)
    assert own is not None
    assert str(own) in os.environ["TF_XLA_FLAGS"]
    return sorted(path.name for path in own.iterdir())


@pytest.mark.parametrize("change", ["changed", "cut off", "without checksum", "with an odd checksum"])
def test_a_program_that_is_not_as_it_was_written_is_not_loaded(folder: Path, change: str) -> None:
    filled(folder, "good.pb", "bad.pb")
    bad, checksum = folder / "bad.pb", folder / f"bad.pb{CHECKSUM}"
    content = bytearray(bad.read_bytes())
    if change == "changed":
        content[50] ^= 1
        bad.write_bytes(content)
    elif change == "cut off":
        bad.write_bytes(content[:100])
    elif change == "without checksum":
        checksum.unlink()
    else:
        checksum.write_bytes(b"\xff")
    assert opened(folder) == ["good.pb"]
    assert not bad.exists()


def test_processes_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    filled(folder, "old.pb")
    first, second = open_cache(folder), open_cache(folder)
    assert first is not None
    assert second is not None
    for own, name in ((first, "a.pb"), (second, "b.pb"), (second, "a.pb")):
        (own / name).write_bytes(name.encode() * 100)
    close_cache(first)
    close_cache(second)
    assert opened(folder) == ["a.pb", "b.pb", "old.pb"]


def test_the_oldest_of_too_many_programs_are_deleted(folder: Path) -> None:
    filled(folder, *(f"{number}.pb" for number in range(MAX_PROGRAMS + 5)))
    assert len(opened(folder)) == MAX_PROGRAMS
    assert {path.stem for path in programs(folder)} == {str(number) for number in range(5, MAX_PROGRAMS + 5)}


def test_a_folder_that_others_may_write_into_is_not_used(folder: Path, tmp_path: Path) -> None:
    filled(folder, "program.pb")
    folder.chmod(0o777)
    assert open_cache(folder) is None
    assert os.environ["TF_XLA_FLAGS"] == ""
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert open_cache(link) is None
    (tmp_path / "file").touch()
    assert open_cache(tmp_path / "file" / "below") is None
    assert open_cache(tmp_path / "with space") is None
    assert (folder / "program.pb").exists()


def test_nothing_is_kept_on_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_000))
    assert open_cache(folder) is None


def test_nothing_is_loaded_where_xla_is_to_dump_what_it_compiles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=somewhere")
    assert open_cache(folder) is None


def test_another_processor_or_other_flags_have_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX")
    other = cache_folder()
    monkeypatch.setattr("trainer.platform.program_cache._processor", lambda: ("another",))
    assert len({folder, other, cache_folder()}) == 3


def test_another_gpu_driver_or_library_has_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [H200, H200._replace(name="NVIDIA H100"), H200._replace(driver="590.1")]
    folders = {folder, *map(cache_folder, others)}
    installed = [SimpleNamespace(name="nvidia-cudnn-cu12", version="9.99")]
    monkeypatch.setattr("importlib.metadata.distributions", lambda: installed)
    assert cache_folder() == folder
    folders.add(cache_folder(H200))
    assert len(folders) == 5


@pytest.mark.parametrize(
    ("gpus", "is_one_host", "devices"),
    [
        ([], True, "CPU"),
        ([H200], True, "CPU,GPU"),
        ([H200, H200], True, "CPU"),
        ([H200], False, "CPU"),
        ([H200._replace(is_divided=True)], True, "CPU"),
    ],
)
def test_the_programs_of_one_whole_gpu_are_kept(
    folder: Path, gpus: list[GpuModel], is_one_host: bool, devices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_own": None, "_keeps_all": False}.items():
        monkeypatch.setattr(first_calls, name, value)
    first_calls.enable_program_cache(gpus, is_one_host=is_one_host)
    assert os.environ["TF_XLA_FLAGS"].endswith(f"--tf_xla_persistent_cache_device_types={devices}")
    assert str(cache_folder(H200) if "GPU" in devices else folder) in os.environ["TF_XLA_FLAGS"]
    assert first_calls.caches_training_programs() == (not gpus or "GPU" in devices)
