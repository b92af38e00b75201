"""Which utterances of a corpus are taken: lists of ids, and a number chosen by hash."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

from preprocess.corpora.metadata import read_lines
from preprocess.corpora.source import SourceConfig, row_rejection, shown
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError
from shared.hashing import sort_key


def select(
    elements: Iterator[Utterance | Rejection], *, source: SourceConfig, name: str
) -> Iterator[Utterance | Rejection]:
    """Yield what a source's `include`, `exclude` and `max_utterances` take, and rejections of all other utterances.

    Args:
        name: of the source.

    Raises:
        UserError: a list of ids cannot be read.
    """
    if source.include is not None:
        included = IdList(source.include, source=source, name=name)
        elements = _listed(elements, included, is_wanted=True, message=f"not in {source.include} (include)")
    if source.exclude is not None:
        excluded = IdList(source.exclude, source=source, name=name)
        elements = _listed(elements, excluded, is_wanted=False, message=f"in {source.exclude} (exclude)")
    return elements if source.max_utterances is None else _first_by_hash(elements, count=source.max_utterances)


class IdList:
    """The ids in a text file, one a line; what follows a tab is not read.

    Args:
        name: of the source; an id may begin with it, as in the tables and pages of a dataset.
    """

    def __init__(self, path: Path, *, source: SourceConfig, name: str):
        self._path, self._source, self._name = path, source, name
        self._lines: dict[str, int] = {}
        for line in read_lines(path):
            try:
                self._lines[line.text.partition("\t")[0].strip()] = line.number
            except Rejected as error:
                raise UserError(f"{path}, line {line.number}: {error.message}; expected an id") from error
        self._missing = dict(self._lines)

    def take(self, utterance_id: str) -> bool:
        """Whether the list has an id."""
        for one in (utterance_id, utterance_id.removeprefix(f"{self._name}/")):
            if one in self._lines:
                self._missing.pop(one, None)
                return True
        return False

    def rejections(self) -> Iterator[Rejection]:
        """A rejection for each id that was not asked for."""
        for one, number in self._missing.items():
            yield row_rejection(
                self._path,
                root=self._source.root,
                name=self._name,
                line=number,
                language=self._source.language or "",
                error=Rejected(Reason.BAD_METADATA_ROW, f"the corpus has no utterance {shown(one)}"),
            )


def _listed(
    elements: Iterator[Utterance | Rejection], ids: IdList, *, is_wanted: bool, message: str
) -> Iterator[Utterance | Rejection]:
    for element in elements:
        if isinstance(element, Rejection) or ids.take(element.id) == is_wanted:
            yield element
        else:
            yield _not_selected(element, message)
    yield from ids.rejections()


def _first_by_hash(elements: Iterator[Utterance | Rejection], *, count: int) -> Iterator[Utterance | Rejection]:
    """The first `count` utterances in the order of their hashes, and rejections of all others.

    Memory holds the selected utterances only. One that a later utterance replaces is rejected at that moment.
    """
    message = f"not among the {count} that max_utterances chose by hash"
    heap: list[tuple[int, str, Utterance]] = []  # largest hash first: the first one to be replaced
    for element in elements:
        if isinstance(element, Rejection):
            yield element
            continue
        entry = (-sort_key(element.id)[0], repr(element), element)  # ids can repeat
        if len(heap) < count:
            heapq.heappush(heap, entry)
        else:
            yield _not_selected(heapq.heappushpop(heap, entry)[2], message)
    yield from (utterance for _, _, utterance in heap)


def _not_selected(utterance: Utterance, message: str) -> Rejection:
    return Rejection(
        id=utterance.id,
        audio_path=utterance.audio_path,
        language=utterance.language,
        stage="corpus",
        reason=Reason.NOT_SELECTED,
        message=message,
    )
