"""Keeps one recording from ending a build: it may crash its decoder, exhaust the memory, or never end.

While a worker prepares an utterance, a file in the staging folder names it. If the worker ends, the next attempt finds
the name, and prepares that utterance in a process of its own first. If that process fails too, the utterance is
rejected. The next attempt is the runner's, or the user's next build.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import operator
import os
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from pipelines.build.staging import Staging
from preprocess import isolated
from preprocess.audio_file import read_through, recording_sha256
from preprocess.record import Preparation, PreparedUtterance
from preprocess.utterance import CRASH_STAGE, Reason, Rejected, Rejection, Utterance, rejection
from shared.layout import Layout
from shared.storage_path import StoragePath
from shared.tables import read_table

HUNG_EXIT_CODE = 70
WAITS = 10  # of the thread that watches, for one utterance
MAX_CRASHES = 2  # of processes that prepared one utterance, although it could be prepared alone


class CrashGuard:
    """Prepares the utterances of one shard; a context manager that notes in a file which one it is preparing.

    Args:
        prepare: prepares one utterance.
        folder: takes a file with the note; those that ended processes left are read. An object store gets none.
        shard_name: begins the name of the file.
        crashed: the ids of utterances that ended earlier processes, and how many.
    """

    def __init__(
        self, prepare: Preparation, *, folder: StoragePath, shard_name: str, crashed: collections.Counter[str]
    ):
        self._prepare = prepare
        self._path = folder / f"{shard_name}.{uuid.uuid4().hex}" if isinstance(folder, Path) else None
        self._left = sorted(folder.glob(f"{shard_name}.*")) if isinstance(folder, Path) else []
        self._crashes = functools.reduce(operator.or_, map(_noted_ids, self._left), crashed)
        self._file, self._start, self._width = -1, 0, 0
        self._began: Utterance | None = None
        self._ended = threading.Event()

    def __enter__(self) -> CrashGuard:
        if self._path is not None:
            known = "".join(f"{json.dumps(one)}\n" for one in self._crashes.elements()).encode()
            self._path.write_bytes(known + b"\n")  # the last line is the note, blank so far
            self._file, self._start = os.open(self._path, os.O_WRONLY), len(known)
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        if self._path is None:
            return
        os.close(self._file)
        for path in (self._path, *self._left) if kind is None else ():
            path.unlink(missing_ok=True)  # another attempt at this shard may end at the same time

    def __call__(self, utterance: Utterance) -> PreparedUtterance | Rejection:
        """Prepare an utterance, or reject it because it ended the process that prepared it before."""
        crashes = self._crashes[utterance.id]
        if crashes and self._can_be_read(utterance):
            message = isolated.isolated_failure(utterance, prepare=self._prepare)
            if message is None and crashes >= MAX_CRASHES:
                message = f"{crashes} processes ended while they prepared it"
            if message is not None:
                reason = Reason.UNREADABLE_AUDIO
                return rejection(utterance, stage=CRASH_STAGE, reason=reason, message=message)
        with self._noted(utterance):
            return self._prepare(utterance)

    def sha256(self, utterance: Utterance) -> str:
        """The sha256 of a recording, for which a part is decoded; empty if it cannot be read or ended a process."""
        if self._crashes[utterance.id]:
            return ""
        with self._noted(utterance):
            return recording_sha256(utterance.audio_path)[0]

    @contextlib.contextmanager
    def _noted(self, utterance: Utterance) -> Iterator[None]:
        """Note the id while the recording is decoded."""
        self._note(json.dumps(utterance.id))
        self._began = utterance
        try:
            yield
        except MemoryError:
            raise  # the note stays: the next attempt isolates this utterance
        except BaseException:
            self._note("")
            raise
        finally:
            self._began = None
        self._note("")

    def _can_be_read(self, utterance: Utterance) -> bool:
        """Whether the disk reads the recording; if it hangs, this process ends, and the recording is not to blame."""
        self._began = utterance
        try:
            read_through(utterance.audio_path)
        except (OSError, Rejected):
            return False
        finally:
            self._began = None
        return True

    def _note(self, text: str) -> None:
        """Overwrite the note; to cut it off would be a request to the server of a network file system."""
        if self._path is not None:
            note = f"{text:{self._width}}\n".encode()
            self._width = max(self._width, len(note) - 1)
            os.pwrite(self._file, note, self._start)

    def _watch(self) -> None:
        """End this process if an utterance takes too long; runs in a thread, so that a stopped process does not age."""
        before, waits = None, 0
        while not self._ended.wait(isolated.MAX_PREPARATION_S / WAITS):
            began = self._began
            before, waits = began, waits + 1 if began is before else 0
            if began is not None and waits >= WAITS:
                limit = f"not prepared within {isolated.MAX_PREPARATION_S:.0f} s"
                remedy = "nothing was published; run again: it is then prepared in a process of its own"
                with contextlib.suppress(OSError):
                    sys.stderr.write(f"error: {began.id} ({began.audio_path}): {limit}; {remedy}\n")
                    sys.stderr.flush()
                os._exit(HUNG_EXIT_CODE)


def _noted_ids(path: Path, *, is_interrupted: bool = False) -> collections.Counter[str]:
    """The ids in the file of a process that ended: of earlier crashes, and of what it was preparing.

    Args:
        is_interrupted: the user ended it: what it was preparing did not.
    """
    found = collections.Counter[str]()
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines[:-1] if is_interrupted else lines:
            with contextlib.suppress(ValueError):  # blank, or not written to its end
                found[str(json.loads(line))] += 1
    return found


def shard_guard(
    shard_name: str,
    *,
    prepare: Preparation,
    utterance_ids: Iterable[str],
    crashed: collections.Counter[str],
    data: Layout,
    staging: Staging,
) -> CrashGuard:
    """The preparation of a shard's utterances.

    Args:
        crashed: what the workers of interrupted builds noted.
        data: the published dataset; what was rejected there for a crash is isolated too.
    """
    crashed = crashed | _rejected_for_crashes(shard_name, data=data)
    own = collections.Counter({one: crashed[one] for one in utterance_ids if one in crashed})
    return CrashGuard(prepare, folder=staging.preparing_folder, shard_name=shard_name, crashed=own)


def noted_in(builds: Iterable[Staging]) -> collections.Counter[str]:
    """The ids that the workers of interrupted builds noted, and the number of processes that each of them ended.

    A build notes again what the interrupted builds before it had noted.
    """
    noted = (_noted_in(one) for one in builds)
    return functools.reduce(operator.or_, noted, collections.Counter[str]())


def _noted_in(build: Staging) -> collections.Counter[str]:
    folder, is_interrupted = build.preparing_folder, build.interrupted_path.is_file()
    paths = folder.iterdir() if isinstance(folder, Path) and folder.is_dir() else ()
    noted = (_noted_ids(path, is_interrupted=is_interrupted) for path in paths)
    return functools.reduce(operator.or_, noted, collections.Counter[str]())


def _rejected_for_crashes(shard_name: str, *, data: Layout) -> collections.Counter[str]:
    """The ids of the published shard that were rejected because they ended the process that prepared them."""
    try:
        table = read_table(data.rejected(shard_name), columns=["utterance_id", "stage"])
    except (OSError, pa.ArrowException):  # there is none, or it is damaged
        return collections.Counter()
    return collections.Counter(row["utterance_id"] for row in table.to_pylist() if row["stage"] == CRASH_STAGE)
