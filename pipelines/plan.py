"""Where each utterance will go: the number of shards of each source and split, fixed before the graph."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.config import BuildConfig
from pipelines.splits import Splits
from preprocess.corpora import read_corpus
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError
from shared.layout import Stem
from shared.order import shard_of

Element = Utterance | Rejection


class Plan(NamedTuple):
    """Shards by (source, split), and how many utterances and bad rows were listed."""

    shards: dict[tuple[str, str], int]
    listed: int
    splits: Splits

    def stem_of(self, element: Element, *, source: str) -> Stem:
        """The shard of an utterance, by its id within its split.

        Raises:
            UserError: no shard was planned for its split.
        """
        split = self.splits.split_of(element)
        shards = self.shards.get((source, split), 0)
        if shards == 0:
            raise UserError(f"sources.{source}: the corpus changed while it was read; run the build again")
        return Stem(source, split, shard_of(element.id, shards=shards), shards)

    def stems(self) -> Iterator[Stem]:
        for (source, split), shards in sorted(self.shards.items()):
            for shard in range(shards):
                yield Stem(source, split, shard, shards)


def plan_build(config: BuildConfig) -> Plan:
    """List every source once and divide each split into shards of about `utterances_per_shard`.

    Raises:
        UserError: a corpus is not where it should be, or holds nothing; a held-out name is nobody's.
    """
    splits = Splits.from_config(config)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    missing = set(splits.held_out)
    for name, source in config.sources.items():
        before = counts.total()
        for element in read_corpus(source, name=name):
            counts[name, splits.split_of(element)] += 1
            missing.discard(element.id)
            if isinstance(element, Utterance):
                missing.discard(element.speaker)
        if counts.total() == before:
            raise UserError(f"sources.{name}: {source.root} lists no utterance; is its metadata file empty?")
    if missing:
        named = ", ".join(sorted(missing)[:3])
        message = f"held_out: no source has {named} ({len(missing)} such names)"
        raise UserError(f"{message}; wanted source/utterance or source/speaker, a line each")
    shards = {place: -(-count // config.utterances_per_shard) for place, count in counts.items()}
    return Plan(shards, counts.total(), splits)
