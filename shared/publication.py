"""Atomic publication: a new dataset replaces an older one in one step, even if the process is killed.

1. All new files are complete below `DATA/.staging`.
2. The journal `DATA/.publication.json` is written. It lists every renaming and removal; with it the new dataset is
   published.
3. The renamings and removals follow, then the staging folder is removed.

After a kill during step 3, whoever opens the dataset next finishes the step first; every action can be repeated. Where
there are no locks, as in an object store, the next writer finishes it, and readers refuse the dataset until then. A
dataset that was copied from elsewhere may have a journal, so a journal can name only a dataset's own files, and none
of them through a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import pydantic

from shared.errors import UserError
from shared.files import fsync_path, local_path, remove_tree, write_json
from shared.layout import Layout, is_dataset_file
from shared.storage_path import RemoteStoragePath, StoragePath

_STAGED = re.compile(r"\.staging/[0-9a-f]{32}/(.+)")


def _named(name: str) -> str:
    if not is_dataset_file(name):
        raise ValueError("expected the name of a dataset's file")
    return name


def _staged(move: tuple[str, str]) -> tuple[str, str]:
    staged = _STAGED.fullmatch(move[0])
    if staged is None or staged[1] != move[1]:
        raise ValueError("expected a staged file and its name in the dataset")
    return move


def _complete(moves: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    if not moves or moves[-1][1] != "_SUCCESS":
        raise ValueError("expected _SUCCESS last")
    return moves


Name = Annotated[str, pydantic.AfterValidator(_named)]
Move = Annotated[tuple[str, Name], pydantic.AfterValidator(_staged)]  # (from, to)


class Publication(pydantic.BaseModel):
    """The content of `.publication.json`. Paths are relative to the dataset; the last move brings `_SUCCESS`."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    removals: tuple[Name, ...]
    moves: Annotated[tuple[Move, ...], pydantic.AfterValidator(_complete)]

    @property
    def folders(self) -> list[PurePosixPath]:
        """Every folder below the dataset that a path leads through, outer folders first."""
        names = [*self.removals, *(name for move in self.moves for name in move)]
        return sorted({parent for name in names for parent in PurePosixPath(name).parents if parent.parts})


def check_folders(folders: Iterable[StoragePath], *, root: StoragePath) -> None:
    """Check that files can be renamed between these folders and the dataset; absent folders are skipped.

    Raises:
        UserError: a folder is a link or a file, or is on another file system than the dataset.
        OSError: a folder cannot be written to.
    """
    if isinstance(root, RemoteStoragePath):
        return
    for folder in map(local_path, folders):
        _refuse_link(folder)
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder}: not a folder; expected one, as datasets have; move it away")
        if folder.is_dir():
            if not _is_of_one_mount(folder, local_path(root)):
                message = "is on another file system than the dataset, and files cannot be renamed across file systems"
                raise UserError(f"{folder}: {message}; make it a plain folder, or put the whole dataset there")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _check_files(names: Iterable[str], *, root: StoragePath) -> None:
    """Raise IsADirectoryError if a folder has the name of a file to be removed or replaced."""
    for path in (root / name for name in names if not isinstance(root, RemoteStoragePath)):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        message = "is a link; expected a folder; nothing is renamed or removed through a link"
        raise UserError(f"{folder}: {message}; make it a plain folder, or put the whole dataset where it leads")


def _is_of_one_mount(folder: Path, other: Path) -> bool:
    """Probe by renaming an absent file: the error differs between two mounts, also of one file system."""
    name = f".{uuid.uuid4().hex}"
    try:
        os.rename(folder / name, other / name)  # noqa: PTH104 - a probe, not a renaming
    except OSError as error:
        return error.errno != errno.EXDEV and folder.stat().st_dev == other.stat().st_dev
    return True


def publish_files(
    layout: Layout, *, moves: Iterable[tuple[StoragePath, StoragePath]], removals: Iterable[StoragePath]
) -> None:
    """Publish a staged dataset; the caller holds the dataset's write lock.

    Args:
        moves: (staged file, final path); the last one brings `_SUCCESS`.

    Raises:
        UserError, OSError: the files cannot be renamed, and nothing was changed. OSError also if the disk fails later.
    """
    publication = Publication(
        removals=tuple(_relative(path, layout=layout) for path in removals),
        moves=tuple((_relative(one, layout=layout), _relative(other, layout=layout)) for one, other in moves),
    )
    check_folders((layout.root / folder for folder in publication.folders), root=layout.root)
    _check_files([*publication.removals, *(name for _, name in publication.moves)], root=layout.root)
    for folder in sorted({(layout.root / name).parent for name, _ in publication.moves}):
        fsync_path(folder)
    write_json(layout.journal, publication)
    fsync_path(layout.root)
    complete_publication(layout)


def _relative(path: StoragePath, *, layout: Layout) -> str:
    return path.relative_to(layout.root).as_posix()


def complete_publication(layout: Layout) -> None:
    """Carry out the journal from its start, if there is one; the caller holds the dataset's lock.

    A journal whose files are gone is removed: the dataset then has no `_SUCCESS`, and a build makes what is missing.
    """
    publication = _read(layout)
    if publication is None:
        return
    if not isinstance(layout.root, RemoteStoragePath):
        for folder in publication.folders:
            _refuse_link(local_path(layout.root / folder))
    *moves, last = publication.moves
    staged = layout.root / last[0]
    if staged.is_file():  # otherwise the kill came after the last move
        _carry_out(publication.removals, moves, last, root=layout.root, success=layout.success)
    if not staged.is_file():
        # the dataset is published; the next build removes the rest or reports why not (a folder can be too deep)
        with contextlib.suppress(OSError, RecursionError):
            remove_staged(staged.parent)
    layout.journal.unlink()
    fsync_path(layout.root)


def remove_staged(folder: StoragePath) -> None:
    """Remove the staging folder of one build, and the common staging folder once it is empty.

    Raises:
        OSError: the disk failed.
    """
    if folder.exists():
        remove_tree(folder)
    if folder.parent.is_dir() and not any(folder.parent.iterdir()):
        remove_tree(folder.parent)


def _carry_out(
    removals: Iterable[str],
    moves: Sequence[tuple[str, str]],
    last: tuple[str, str],
    *,
    root: StoragePath,
    success: StoragePath,
) -> None:
    success.unlink(missing_ok=True)
    for name in removals:
        (root / name).unlink(missing_ok=True)
    if all([_move(root / one, root / other) for one, other in moves]):
        for folder in sorted({(root / other).parent for _, other in moves}):
            fsync_path(folder)
        _move(root / last[0], root / last[1])


def _move(source: StoragePath, target: StoragePath) -> bool:
    """Rename a file; False if neither its old nor its new name exists."""
    try:
        source.replace(target)
    except FileNotFoundError:
        return target.is_file()  # moved before the kill
    return True


def _read(layout: Layout) -> Publication | None:
    try:
        return Publication.model_validate_json(layout.journal.read_bytes())
    except FileNotFoundError:
        return None
    except pydantic.ValidationError as error:
        raise UserError(f"{layout.journal}: not a journal of a build; remove it, and run `make preprocess`") from error


def format_checksums(sums: Mapping[str, str]) -> bytes:
    """The content of `_SUCCESS` in `sha256sum`'s format: `sha256sum --check _SUCCESS` verifies it."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def read_checksums(path: StoragePath) -> dict[str, str]:
    """Read `_SUCCESS`: file name -> sha256; an absent file gives no entries."""
    try:
        return parse_checksums(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else {}
    except OSError:
        return {}


def parse_checksums(text: str) -> dict[str, str]:
    """The content of `_SUCCESS`: file name -> sha256; malformed lines are skipped."""
    parts = [line.partition("  ") for line in text.splitlines()]
    return {name: digest for digest, _, name in parts if len(digest) == 64 and _is_inside(name)}
