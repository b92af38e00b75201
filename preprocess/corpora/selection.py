"""Which utterances of a corpus are taken: lists of ids, bounds of scores, and a number chosen by hash."""

from __future__ import annotations

import dataclasses
import heapq
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from preprocess.corpora.custom_columns import custom_document
from preprocess.corpora.metadata import read_lines
from preprocess.corpora.scores import Scores, read_scores
from preprocess.corpora.source import SourceConfig, row_rejection, shown
from preprocess.utterance import Reason, Rejected, Rejection, Utterance, rejection
from shared.errors import UserError
from shared.hashing import sort_key

NO_SOURCES: Mapping[str, SourceConfig] = MappingProxyType({})


def select(
    elements: Iterator[Utterance | Rejection],
    *,
    source: SourceConfig,
    name: str,
    sources: Mapping[str, SourceConfig] = NO_SOURCES,
) -> Iterator[Utterance | Rejection]:
    """Yield what a source's `include`, `exclude`, `scores` and `max_utterances` take, and rejections of all others.

    Args:
        name: of the source.
        sources: all sources of the config.

    Raises:
        UserError: a list of ids or a table of scores cannot be read.
    """
    lists = [
        IdList(path, source=source, name=name, is_wanted=is_wanted, others=_sharing(path, sources=sources) - {name})
        for path, is_wanted in ((source.include, True), (source.exclude, False))
        if path is not None
    ]
    tables = [read_scores(*one) for one in source.scores.items()]
    if tables:
        elements = _with_known_ids(elements, tables, name=name)
    if lists:
        elements = _listed(elements, lists)
    if tables:
        elements = _scored(elements, tables, name=name)
    return elements if source.max_utterances is None else _first_by_hash(elements, count=source.max_utterances)


def _sharing(path: Path, *, sources: Mapping[str, SourceConfig]) -> set[str]:
    """The sources that have this list."""
    return {name for name, source in sources.items() if path in (source.include, source.exclude)}


class IdList:
    """The ids in a text file, one a line; what follows a tab is not read.

    Args:
        name: of the source; an id may begin with it, as in the tables and pages of a dataset.
        is_wanted: the ids are the only ones that are taken; otherwise they are not taken.
        others: the other sources with this list; an id that begins with the name of one is not looked for here.
    """

    def __init__(self, path: Path, *, source: SourceConfig, name: str, is_wanted: bool, others: Collection[str] = ()):
        self._path, self._source, self._name, self._is_wanted = path, source, name, is_wanted
        self.message = f"not in {path} (include)" if is_wanted else f"in {path} (exclude)"
        self._lines: dict[str, int] = {}
        for line in read_lines(path):
            try:
                self._lines[line.text.partition("\t")[0].strip()] = line.number
            except Rejected as error:
                raise UserError(f"{path}, line {line.number}: {error.message}; expected an id") from error
        self._missing = {one: line for one, line in self._lines.items() if one.partition("/")[0] not in others}

    def takes(self, utterance_id: str) -> bool:
        """Whether an utterance is taken; its id is then known to be in the corpus."""
        names = [one for one in (utterance_id, utterance_id.removeprefix(f"{self._name}/")) if one in self._lines]
        for one in names:
            self._missing.pop(one, None)
        return bool(names) == self._is_wanted

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


def _listed(elements: Iterator[Utterance | Rejection], lists: Sequence[IdList]) -> Iterator[Utterance | Rejection]:
    for element in elements:
        if isinstance(element, Rejection):
            yield element
            continue
        refusing = [ids for ids in lists if not ids.takes(element.id)]  # each list is asked, to know its ids
        yield _not_selected(element, refusing[0].message) if refusing else element
    for ids in lists:
        yield from ids.rejections()


def _scored(
    elements: Iterator[Utterance | Rejection], tables: Sequence[Scores], *, name: str
) -> Iterator[Utterance | Rejection]:
    for element in elements:
        if isinstance(element, Rejection):
            yield element
            continue
        scores = {table.name: table.score(element.id, source=name) for table in tables}
        refusals = (table.refusal(scores[table.name]) for table in tables)
        message = next(filter(None, refusals), "")
        yield _not_selected(element, message) if message else _with_scores(element, scores)


def _with_scores(utterance: Utterance, scores: Mapping[str, float | None]) -> Utterance:
    """The utterance with its scores among its custom columns; null for a score that the table does not have."""
    values = {name: None if score is None or math.isnan(score) else score for name, score in scores.items()}
    return dataclasses.replace(utterance, custom=custom_document(json.loads(utterance.custom) | values))


def _with_known_ids(
    elements: Iterator[Utterance | Rejection], tables: Sequence[Scores], *, name: str
) -> Iterator[Utterance | Rejection]:
    """Yield the elements; raise UserError at their end if a table has no id of the corpus."""
    missing, asked = list(tables), ""
    for element in elements:
        if missing and isinstance(element, Utterance):
            asked = element.id
            missing = [table for table in missing if table.score(asked, source=name) is None]
        yield element
    if missing and asked:
        raise UserError(
            f"{missing[0].bounds.file}: no utterance of the source {name} is in its column {missing[0].bounds.id}; "
            f"expected ids such as {asked}"
        )


def _first_by_hash(elements: Iterator[Utterance | Rejection], *, count: int) -> Iterator[Utterance | Rejection]:
    """The first `count` utterances in the order of their hashes, and rejections of all others.

    Memory holds the selected utterances only. One that a later utterance replaces is rejected at that moment.
    """
    message = f"not among the {count} that max_utterances chose by hash"
    heap: list[tuple[int, str, str, Utterance]] = []  # largest hash first: the first one to be replaced
    for element in elements:
        if isinstance(element, Rejection):
            yield element
            continue
        entry = (-sort_key(element.id)[0], repr(element), element.split, element)  # ids can repeat
        if len(heap) < count:
            heapq.heappush(heap, entry)
        else:
            yield _not_selected(heapq.heappushpop(heap, entry)[-1], message)
    yield from (entry[-1] for entry in heap)


def _not_selected(utterance: Utterance, message: str) -> Rejection:
    return rejection(utterance, stage="corpus", reason=Reason.NOT_SELECTED, message=message)
