"""The split to which a corpus itself assigns an utterance: train, validation or test."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from preprocess.corpora.source import SourceConfig, shown
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

# the words by which corpora name their splits -> the split of a dataset
SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "dev": "validation",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
_WORD = re.compile(rf"(?<![a-z])({'|'.join(SPLIT_WORDS)})(?![a-z])")


def split_of_cell(cell: str) -> str:
    """The split that a cell of a table names, such as `train-clean-100`; empty for an empty cell.

    Raises:
        Rejected: the cell names no split, or several.
    """
    split = _split_in(cell)
    if cell.strip() and not split:
        message = f"its split is {shown(cell)}, expected one of {', '.join(SPLIT_WORDS)}, or nothing"
        raise Rejected(Reason.BAD_METADATA_ROW, message)
    return split


def with_official_splits(
    elements: Iterator[Utterance | Rejection], *, source: SourceConfig, name: str
) -> Iterator[Utterance | Rejection]:
    """Yield the elements, each utterance with the split that its corpus names.

    The first name with one of SPLIT_WORDS decides: those of the folders between the corpus' root and the recording,
    from above, that of the recording's file, that of the list or table that the source reads, that of the root. An
    utterance whose reader knows the split keeps it.

    Args:
        name: of the source.

    Raises:
        UserError: no name has such a word.
    """
    roots = tuple(f"{root}/" for root in dict.fromkeys((source.root, source.root.absolute(), source.root.resolve())))
    above = next(filter(None, map(_split_in, (source.list_name, source.root.absolute().name))), "")
    for element in elements:
        if isinstance(element, Rejection) or element.split:
            yield element
            continue
        folder, _, file = _below(element.audio_path, roots=roots, root=source.root).rpartition("/")
        split = _split_in_folders(folder) or _split_in(file) or above
        if not split:
            raise UserError(
                f"sources.{name}.official_splits: nothing in {element.audio_path} names a split; expected a folder or "
                f"a file whose name has one of the words {', '.join(SPLIT_WORDS)}; without the setting, hashes divide "
                "the corpus"
            )
        yield dataclasses.replace(element, split=split)


def _below(path: str, *, roots: Sequence[str], root: Path) -> str:
    """The path relative to the corpus' root; empty for a path elsewhere, whose folders say nothing of the corpus."""
    for one in roots:
        if path.startswith(one):
            return path[len(one) :]
    return path if root == Path() and not path.startswith("/") else ""


@functools.lru_cache(maxsize=1024)
def _split_in_folders(folder: str) -> str:
    return next(filter(None, map(_split_in, PurePosixPath(folder).parts)), "")


def _split_in(name: str) -> str:
    """The split that a name has a word of; empty for a name with none, or with those of several splits."""
    found = {SPLIT_WORDS[word] for word in _WORD.findall(name.lower())}
    return found.pop() if len(found) == 1 else ""
