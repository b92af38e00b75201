"""Where each utterance will go: the number of shards of each source and split, fixed before the graph."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipelines.build.splits import Splits
from pipelines.config import BuildConfig
from preprocess.corpora import read_corpus
from preprocess.corpora.source import SourceConfig
from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError
from shared.hashing import shard_of
from shared.layout import ShardName

Element = Utterance | Rejection


class Plan(NamedTuple):
    """Shards by (source, split), and how many utterances and bad rows were listed."""

    shards: dict[tuple[str, str], int]
    listed: int
    splits: Splits
    # where the shards are those of a dataset, whatever the corpora say now: how many of `listed` are of each
    published: dict[str, int] | None = None

    def stem_of(self, element: Element, *, source: str) -> ShardName | None:
        """The shard of an utterance, by its id within its split; None where the published split has none.

        Raises:
            UserError: no shard was planned for its split.
        """
        split = self.splits.split_of(element)
        shards = self.shards.get((source, split), 0)
        if shards == 0 and self.published is None:
            raise UserError(f"sources.{source}: the corpus changed while it was read; run the build again")
        return ShardName(source, split, shard_of(element.id, shards=shards), shards) if shards else None

    def place(self, config: BuildConfig) -> Iterator[tuple[ShardName, Element]]:
        """Every utterance and bad row that has a shard."""
        for name, source in config.sources.items():
            for element in read_corpus(source, name=name):
                if (stem := self.stem_of(element, source=name)) is not None:
                    yield stem, element

    def listed_in(self, stems: Iterable[str]) -> int:
        """How many utterances and bad rows fall into these shards of a published dataset."""
        counts = self.published or {}
        return sum(counts.get(stem, 0) for stem in stems)

    def stems(self) -> Iterator[ShardName]:
        for (source, split), shards in sorted(self.shards.items()):
            for shard in range(shards):
                yield ShardName(source, split, shard, shards)


def is_wanted(element: Element) -> bool:
    """Whether it is more than a row that says that nobody asked for it."""
    return isinstance(element, Utterance) or element.reason != Reason.NOT_SELECTED


def plan_build(config: BuildConfig) -> Plan:
    """List every source once and divide each split into shards of about `utterances_per_shard`.

    What a source was not asked for, `max_utterances`, has rows in them and no part in their number.

    Raises:
        UserError: a corpus is not where it should be, or holds nothing; a held-out name is nobody's.
    """
    splits = Splits.from_config(config)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    wanted: collections.Counter[tuple[str, str]] = collections.Counter()
    missing = set(splits.held_out)
    for name, source in config.sources.items():
        before = counts.total()
        for element in read_corpus(source, name=name):
            place = name, splits.split_of(element)
            counts[place] += 1
            wanted[place] += is_wanted(element)
            missing.discard(element.id)
            if isinstance(element, Utterance):
                missing.discard(element.speaker)
        if counts.total() == before:
            raise UserError(f"sources.{name}: {source.root} lists no utterance; is its metadata file empty?")
    if missing:
        named = ", ".join(sorted(missing)[:3])
        message = f"held_out: no source has {named} ({len(missing)} such names)"
        raise UserError(f"{message}; wanted source/utterance or source/speaker, a line each")
    shards = {place: max(1, -(-count // config.utterances_per_shard)) for place, count in wanted.items()}
    return Plan(shards, counts.total(), splits)


def plan_as_published(stems: Iterable[str], *, config: BuildConfig) -> Plan:
    """The shards that a dataset has; what is new in the corpora falls into one of them, or is left out.

    Raises:
        UserError: the dataset has other sources than the config, or a corpus is not where it should be.
    """
    shards = {(stem.source, stem.split): stem.shards for stem in map(ShardName.parse, stems)}
    found, wanted = {source for source, _ in shards}, set(config.sources)
    if found != wanted:
        message = f"the dataset has the sources {', '.join(sorted(found))}, the config {', '.join(sorted(wanted))}"
        raise UserError(f"{message}; give the config that it was built with")
    plan = Plan(shards, 0, Splits.from_config(config), published={})
    counts = collections.Counter(str(stem) for stem, _ in plan.place(config))
    return plan._replace(listed=counts.total(), published=dict(counts))


def read_keyed(named: tuple[str, SourceConfig], plan: Plan) -> Iterator[tuple[str, Element]]:
    """(stem, utterance or rejection) of one source, as far as it has a shard."""
    name, source = named
    for element in read_corpus(source, name=name):
        if (stem := plan.stem_of(element, source=name)) is not None:
            yield str(stem), element
