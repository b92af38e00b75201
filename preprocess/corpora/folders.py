"""Listing a corpus' folders: in the order of their names, without hidden and AppleDouble files."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from preprocess.corpora.source import corpus_not_found
from shared.errors import UserError


def list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder, ordered by name.

    Raises:
        UserError: the folder cannot be listed; its utterances would be lost silently.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder}: cannot list the folder ({error.strerror})") from error


def is_file(entry: os.DirEntry[str]) -> bool:
    """True for a file or a link to one; False for a link to itself."""
    try:
        return entry.is_file()
    except OSError:
        return False


def walk(root: Path) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """Yield `root` and every folder below it, each with its files; links to folders are skipped, as they can loop."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        entries = list_folder(folder)
        waiting += [Path(entry.path) for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]
        yield folder, [entry for entry in entries if is_file(entry)]


def find_below(root: Path, pattern: str, *, name: str, reader: str) -> Iterator[Path]:
    """Yield the files below `root` whose path matches a pattern in which a * stands for folders too.

    Raises:
        UserError: no file matches.
    """
    found = False
    for folder, entries in walk(root):
        for entry in entries:
            path = folder / entry.name
            if fnmatch.fnmatchcase(path.relative_to(root).as_posix(), pattern):
                found = True
                yield path
    if not found:
        raise corpus_not_found([root / pattern], name=name, reader=reader)


def find_files(root: Path, *patterns: str, name: str, reader: str) -> Iterator[Path]:
    """Yield the files below `root` that match a pattern such as `*/transcripts.txt`, ordered by name in each folder.

    Raises:
        UserError: no file matches; the message lists the patterns.
    """
    found = False
    for pattern in patterns:
        for path in _matches(root, pattern):
            found = True
            yield path
    if not found:
        raise corpus_not_found([root / pattern for pattern in patterns], name=name, reader=reader)


def find_splits(
    root: Path, pattern: str, *, splits: Sequence[str], default: Sequence[str], name: str, reader: str
) -> Iterator[Path]:
    """Yield the files of the configured splits, or of the default splits that exist.

    Args:
        pattern: of the files, with `{}` for the split's name.
        splits: the configured splits; every one must exist.
        default: the splits to look for if none is configured.
    """
    for split in splits:
        yield from find_files(root, pattern.format(split), name=name, reader=reader)
    if not splits:
        yield from find_files(root, *(pattern.format(split) for split in default), name=name, reader=reader)


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    head, _, rest = pattern.partition("/")
    for entry in list_folder(folder):
        if not fnmatch.fnmatchcase(entry.name, head):
            continue
        if not rest and is_file(entry):
            yield Path(entry.path)
        elif rest and Path(entry.path).is_dir():
            yield from _matches(Path(entry.path), rest)
