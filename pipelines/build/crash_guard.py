"""Keeps one recording from ending a build: it may crash its decoder, exhaust the memory, or never end.

While a worker prepares an utterance, a file in the staging folder names it. If the worker ends, the next attempt finds
the name, and prepares that utterance in a process of its own first. If that process fails too, the utterance is
rejected. The next attempt is the runner's, or the user's next build.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from pipelines.build.staging import Staging
from preprocess import isolated
from preprocess.record import Preparation, PreparedUtterance, rejection
from preprocess.utterance import CRASH_STAGE, Reason, Rejection, Utterance
from shared.layout import Layout
from shared.storage_path import StoragePath
from shared.tables import read_table

HUNG_EXIT_CODE = 70
MAX_CRASHES = 2  # of processes that prepared one utterance, although it could be prepared alone


class CrashGuard:
    """Prepares the utterances of one shard; a context manager that notes in a file which one it is preparing.

    Args:
        prepare: prepares one utterance.
        noted: the file of the note; one that an ended process left is read. An object store gets no file.
        crashed: the ids of utterances that ended earlier processes, and how many.
    """

    def __init__(self, prepare: Preparation, *, noted: StoragePath, crashed: collections.Counter[str]):
        self._prepare, self._path = prepare, noted if isinstance(noted, Path) else None
        left = _noted_ids(self._path) if self._path is not None else []
        self._crashes = collections.Counter(left) | crashed
        self._file, self._start, self._width = -1, 0, 0
        self._began: tuple[float, Utterance] | None = None
        self._ended = threading.Event()

    def __enter__(self) -> CrashGuard:
        if self._path is not None:
            known = "".join(f"{json.dumps(one)}\n" for one in self._crashes.elements()).encode()
            self._file, self._start = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), len(known)
            os.pwrite(self._file, known, 0)
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        if self._path is None:
            return
        os.close(self._file)
        if kind is None:
            self._path.unlink()

    def __call__(self, utterance: Utterance) -> PreparedUtterance | Rejection:
        """Prepare an utterance, or reject it because it ended the process that prepared it before."""
        if crashes := self._crashes[utterance.id]:
            message = isolated.isolated_failure(utterance, prepare=self._prepare)
            if message is None and crashes >= MAX_CRASHES:
                message = f"{crashes} processes ended while they prepared it"
            if message is not None:
                reason = Reason.UNREADABLE_AUDIO
                return rejection(utterance, stage=CRASH_STAGE, reason=reason, message=message)
        self._note(json.dumps(utterance.id))
        self._began = time.monotonic(), utterance
        try:
            prepared = self._prepare(utterance)
        except MemoryError:
            raise  # the note stays: the next attempt isolates this utterance
        except BaseException:
            self._note("")
            raise
        finally:
            self._began = None
        self._note("")
        return prepared

    def _note(self, text: str) -> None:
        """Overwrite the note; to cut it off would be a request to the server of a network file system."""
        if self._path is not None:
            note = f"{text:{self._width}}\n".encode()
            self._width = max(self._width, len(note) - 1)
            os.pwrite(self._file, note, self._start)

    def _watch(self) -> None:
        """End this process if an utterance takes too long; runs in a thread."""
        while not self._ended.wait(isolated.MAX_PREPARATION_S / 10):
            began = self._began
            if began is not None and time.monotonic() - began[0] > isolated.MAX_PREPARATION_S:
                limit = f"not prepared within {isolated.MAX_PREPARATION_S:.0f} s"
                remedy = "nothing was published; run again: it is then prepared in a process of its own"
                with contextlib.suppress(OSError):
                    sys.stderr.write(f"error: {began[1].id} ({began[1].audio_path}): {limit}; {remedy}\n")
                    sys.stderr.flush()
                os._exit(HUNG_EXIT_CODE)


def _noted_ids(path: Path) -> list[str]:
    """The ids in the file of a process that ended: of earlier crashes, and of what it was preparing."""
    found = []
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):  # blank, or not written to its end
                found.append(str(json.loads(line)))
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
    return CrashGuard(prepare, noted=staging.preparing_folder / shard_name, crashed=own)


def noted_in(builds: Iterable[Staging]) -> collections.Counter[str]:
    """The ids that the workers of interrupted builds noted, and the number of processes that each of them ended.

    A build notes again what the interrupted builds before it had noted.
    """
    found = collections.Counter[str]()
    for staging in builds:
        folder = staging.preparing_folder
        paths = sorted(folder.iterdir()) if isinstance(folder, Path) and folder.is_dir() else []
        found |= collections.Counter(one for path in paths for one in _noted_ids(path))
    return found


def _rejected_for_crashes(shard_name: str, *, data: Layout) -> collections.Counter[str]:
    """The ids of the published shard that were rejected because they ended the process that prepared them."""
    try:
        table = read_table(data.rejected(shard_name), columns=["utterance_id", "stage"])
    except (OSError, pa.ArrowException):  # there is none, or it is damaged
        return collections.Counter()
    return collections.Counter(row["utterance_id"] for row in table.to_pylist() if row["stage"] == CRASH_STAGE)
