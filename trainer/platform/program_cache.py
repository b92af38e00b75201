"""Keeps the programs that XLA compiles for CPUs and for a single GPU on disk, for the next process.

    CACHE/myxtts/programs/<TensorFlow, processor, GPU, flags>/<program>          whole programs
                                                             /<program>.sha256   their checksums
                                                             /process-…/         the folder that XLA of one process uses

XLA loads a program without checking it. Therefore the folders belong to the user alone, each process works in a folder
of its own, and gets the programs there whose checksums are right. After the first call of each program, the process
adds the program to those of all with its checksum. What a process that was killed meanwhile leaves is never loaded.
TensorFlow does not document the flags; `test_program_cache.py` shows that they work in the pinned version.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from shared.files import file_sha256
from trainer.platform.user_cache import user_cache_folder
from trainer.platform.visible_gpus import GpuModel

MAX_PROGRAMS = 64  # of a folder; the oldest ones are deleted
MIN_FREE_BYTES = 1 << 30  # XLA fails where it cannot write a program
LEFTOVER_S = 24 * 3600.0  # folders of killed processes are deleted after this time
CHECKSUM, PROCESS = ".sha256", "process-"


def cache_folder(gpu: GpuModel | None = None) -> Path:
    """The folder of the programs that this processor and this GPU can run with these flags."""
    version, flags = importlib.metadata.version("tensorflow"), os.environ.get("XLA_FLAGS", "")
    identity = (version, *_processor(), *_of_gpu(gpu), flags)
    key = hashlib.blake2b("\n".join(identity).encode(), digest_size=12).hexdigest()
    return user_cache_folder() / "programs" / key


def _of_gpu(gpu: GpuModel | None) -> tuple[str, ...]:
    """What determines the instructions for a GPU, and the choice among the algorithms of CUDA's libraries."""
    if gpu is None:
        return ()
    installed = importlib.metadata.distributions()
    libraries = {f"{one.name} {one.version}" for one in installed if one.name.startswith("nvidia-")}
    return gpu.name, gpu.driver, *sorted(libraries)


def _processor() -> tuple[str, ...]:
    """What determines the instructions that XLA uses."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine(), platform.processor()
    found = {name.strip(): value for name, _, value in (line.partition(":") for line in lines)}
    return platform.machine(), *(found.get(name, "") for name in ("model name", "flags", "Features"))


def open_cache(folder: Path, *, devices: Sequence[str] = ("CPU",)) -> Path | None:
    """Have TensorFlow, which is not imported yet, use the programs of a folder.

    Args:
        devices: the types of devices whose programs are kept.

    Returns:
        The folder of this process, for `keep_programs` and `close_cache`; None if nothing is kept, because the folder
        cannot be used safely, or XLA is asked to dump what it compiles.
    """
    if "xla_dump" in os.environ.get("XLA_FLAGS", ""):
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder) or any(map(str.isspace, str(folder))):  # flags are divided at spaces
            return None
        if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            return None
        own = Path(tempfile.mkdtemp(prefix=PROCESS, dir=folder))
        for path in _whole_programs(folder):
            os.link(path, own / path.name)
    except OSError:
        return None
    flags = (
        f"--tf_xla_persistent_cache_directory={own}",
        f"--tf_xla_persistent_cache_device_types={','.join(devices)}",
    )
    os.environ["TF_XLA_FLAGS"] = " ".join(filter(None, (os.environ.get("TF_XLA_FLAGS"), *flags)))
    return own


def keep_programs(own: Path) -> None:
    """Add the new programs of a process to the folder of all; those that the disk does not take are lost."""
    with contextlib.suppress(OSError):
        for path in list(own.iterdir()):  # checksums are added meanwhile
            target = own.parent / path.name
            checksum = own / f"{path.name}{CHECKSUM}"
            if not target.exists():
                checksum.write_text(file_sha256(path), encoding="ascii")
                os.link(path, target)
                checksum.replace(target.with_name(checksum.name))


def close_cache(own: Path) -> None:
    """Keep the new programs of a process, and delete its folder."""
    keep_programs(own)
    shutil.rmtree(own, ignore_errors=True)


def _is_private(folder: Path) -> bool:
    """True if only this user may write into a folder that is no link."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _whole_programs(folder: Path) -> list[Path]:
    """The newest programs with right checksums; deletes all others, and folders that killed processes left."""
    entries = list(folder.iterdir())
    programs = [path for path in entries if path.suffix != CHECKSUM and not path.name.startswith(PROCESS)]
    whole = [path for path in programs if _has_right_checksum(path)]
    newest = sorted(whole, key=lambda path: path.stat().st_mtime, reverse=True)[:MAX_PROGRAMS]
    kept = {name for path in newest for name in (path.name, f"{path.name}{CHECKSUM}")}
    _delete(path for path in entries if path.name not in kept)
    return newest


def _has_right_checksum(path: Path) -> bool:
    checksum = path.with_name(f"{path.name}{CHECKSUM}")
    return checksum.is_file() and checksum.read_bytes() == file_sha256(path).encode()


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # another process may have deleted it
            if not path.name.startswith(PROCESS):
                path.unlink()
            elif time.time() - path.stat().st_mtime > LEFTOVER_S:
                shutil.rmtree(path)
