"""The plan of a build: the number of shards of each source and split, and the shard of each utterance."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pipelines.build.changes import CorpusChanges
from pipelines.build.listing import Element, Listing
from pipelines.build.splits import SpeakerSplits, SplitRule
from pipelines.config import BuildConfig
from preprocess.corpora import read_corpus
from preprocess.utterance import Reason, Utterance
from shared.errors import UserError
from shared.hashing import order_hash, shard_of
from shared.layout import ShardName


class ShardPlan(NamedTuple):
    """The number of shards by (source, split), and the number of listed utterances and bad rows."""

    shards: dict[tuple[str, str], int]
    listed: int
    splits: SplitRule
    expected_new: int = 0  # about how many of `listed` no earlier build has prepared
    # only for the plan of a published dataset: how many of `listed` fall into each of its shards
    published: dict[str, int] | None = None

    def shard_for(self, element: Element, *, source: str) -> ShardName | None:
        """The shard of an utterance, by the hash of its id; None if the dataset has no shard of its split."""
        split = self.splits.split_of(element)
        shards = self.shards.get((source, split), 0)
        return ShardName(source, split, shard_of(element.id, shards=shards), shards) if shards else None

    def assign(self, config: BuildConfig) -> Iterator[tuple[ShardName, Element]]:
        """Read all sources and yield each utterance and bad row with its shard; skip those without one."""
        for name, source in config.sources.items():
            for element in read_corpus(source, name=name, sources=config.sources):
                if (shard := self.shard_for(element, source=name)) is not None:
                    yield shard, element

    def listed_in(self, shard_names: Iterable[str]) -> int:
        """The number of utterances and bad rows that fall into these shards of a published dataset."""
        counts = self.published or {}
        return sum(counts.get(name, 0) for name in shard_names)

    def shard_names(self) -> Iterator[ShardName]:
        """All planned shards, in the order of their names."""
        for (source, split), shards in sorted(self.shards.items()):
            for shard in range(shards):
                yield ShardName(source, split, shard, shards)


def is_selected(element: Element) -> bool:
    """False for rows that the config leaves out."""
    return isinstance(element, Utterance) or element.reason != Reason.NOT_SELECTED


MAX_LISTED_PER_SHARD = 500_000  # rows, left-out ones too: one worker holds about 1 kB of each


def shard_count(utterances: int, *, utterances_per_shard: int) -> int:
    """The power of two that brings the mean number of utterances in a shard nearest to `utterances_per_shard`.

    The mean lies within a factor of √2 of it. A corpus that grows keeps its shards until it has doubled, and then
    each shard is divided into two, because shards are intervals of a hash.
    """
    shards = 1
    while utterances**2 > 2 * (shards * utterances_per_shard) ** 2:
        shards *= 2
    return shards


def plan_shards(
    config: BuildConfig, *, listing: Listing | None = None, changes: CorpusChanges | None = None
) -> ShardPlan:
    """List every source once and divide each split into shards of about `utterances_per_shard`.

    Rows that the config leaves out are assigned to shards, but do not count towards the number of shards, unless a
    shard would have many more than `MAX_LISTED_PER_SHARD` rows.

    Args:
        listing: takes every element up.
        changes: compares every element with a published dataset.

    Raises:
        UserError: a corpus is missing or empty, no source has a held-out name, or a split by speaker divides a person.
    """
    splits = SplitRule.from_config(config)
    speakers = SpeakerSplits(splits)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    selected: collections.Counter[tuple[str, str]] = collections.Counter()
    settings = {"validation": "held_out", "test": "held_out_for_test"}
    missing = {name: settings[split] for name, split in splits.held_out.items()}
    missing |= dict.fromkeys(splits.grouped, "speaker_groups")
    for name, source in config.sources.items():
        before = counts.total()
        for element in read_corpus(source, name=name, sources=config.sources):
            split = splits.split_of(element)
            speakers.add(element, split=split)
            counts[name, split] += 1
            selected[name, split] += is_selected(element)
            if missing:
                missing.pop(element.id, None)
                missing.pop(element.speaker if isinstance(element, Utterance) else "", None)
            order = order_hash(element.id)
            if listing is not None:
                listing.add(element, source=name, split=split, order=order)
            if changes is not None:
                changes.add(element, source=name, split=split, order=order)
        if counts.total() == before:
            raise UserError(f"sources.{name}: {source.root} lists no utterance; expected at least one in its metadata")
    _refuse_unknown(missing)
    speakers.check()
    shards = {
        key: max(
            shard_count(selected[key], utterances_per_shard=config.utterances_per_shard),
            shard_count(count, utterances_per_shard=max(MAX_LISTED_PER_SHARD, config.utterances_per_shard)),
        )
        for key, count in counts.items()
    }
    return ShardPlan(shards, counts.total(), splits, expected_new=counts.total())


def _refuse_unknown(missing: Mapping[str, str]) -> None:
    """Raise UserError for names in a list, with the list's setting, that no source has."""
    if missing:
        named = ", ".join(sorted(missing)[:3])
        message = f"{missing[min(missing)]}: no source has {named} (unknown names: {len(missing)})"
        raise UserError(f"{message}; expected source/utterance or source/speaker, one per line")


def plan_published_shards(shard_names: Iterable[str], *, config: BuildConfig, listing: Listing) -> ShardPlan:
    """Plan exactly the shards of a published dataset; an utterance of a split without shards is left out.

    Args:
        listing: takes every other utterance and bad row up.

    Raises:
        UserError: the config has other sources than the dataset, or a corpus is missing.
    """
    shards = {(shard.source, shard.split): shard.shards for shard in map(ShardName.parse, shard_names)}
    published, configured = {source for source, _ in shards}, set(config.sources)
    if published != configured:
        names = ", ".join(sorted(published)), ", ".join(sorted(configured))
        message = f"the dataset has the sources {names[0]}, the config {names[1]}"
        raise UserError(f"{message}; give the config of the build")
    plan = ShardPlan(shards, 0, SplitRule.from_config(config), published={})
    counts: collections.Counter[str] = collections.Counter()
    for shard, element in plan.assign(config):
        counts[str(shard)] += 1
        listing.add(element, source=shard.source, split=shard.split, order=order_hash(element.id))
    return plan._replace(listed=counts.total(), published=dict(counts), expected_new=counts.total())
