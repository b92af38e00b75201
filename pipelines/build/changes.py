"""What changed in the corpora since a dataset was published, from metadata and the states of files alone."""

from __future__ import annotations

import collections

from pipelines.build.build_cache import read_cache_of
from pipelines.build.file_sums import success_sums
from pipelines.build.input_states import InputSum, input_state
from pipelines.build.listing import Element
from pipelines.config import BuildConfig, config_document
from shared.dataset import DatasetInfo, ShardInfo
from shared.hashing import shard_of_hash
from shared.layout import Layout, ShardName
from shared.publication import format_checksums

Key = tuple[str, str]  # source, split


class CorpusChanges:
    """Compares the utterances that the corpora list today with those of a published dataset.

    It holds one number per shard, and the input states of the utterances of one shard per source and split: of these
    it counts the new ones, as a sample of all.
    """

    def __init__(self, published: DatasetInfo, *, data: Layout):
        self._info, self._data = published, data
        self._infos = {shard.name: shard for shard in published.shards}
        names = [ShardName.parse(shard.name) for shard in published.shards]
        self._shards = {(name.source, name.split): name.shards for name in names}
        self._sums: dict[ShardName, InputSum] = collections.defaultdict(InputSum)
        self._listed: collections.Counter[Key] = collections.Counter()
        self._sampled: dict[Key, list[bytes]] = collections.defaultdict(list)

    def add(self, element: Element, *, source: str, split: str, order: int) -> None:
        """Add an element that the corpora list; `order` is the `order_hash` of its id."""
        key = source, split
        self._listed[key] += 1
        if shards := self._shards.get(key, 0):
            shard, state = shard_of_hash(order, shards=shards), input_state(element)
            self._sums[ShardName(source, split, shard, shards)].add(element, state=state)
            if shard == 0:
                self._sampled[key].append(state)

    def estimate_new(self) -> int:
        """About how many of the listed utterances the dataset has not prepared."""
        return round(sum(count * self._new_fraction(key) for key, count in self._listed.items()))

    def _new_fraction(self, key: Key) -> float:
        if key not in self._shards:
            return 1.0
        first = self._infos.get(str(ShardName(*key, 0, self._shards[key])))
        cached = read_cache_of(first, data=self._data) if first is not None else None
        known = set(cached.rows["state"].to_pylist()) if cached is not None else set()
        sampled = self._sampled[key]
        return sum(state not in known for state in sampled) / max(len(sampled), 1)

    def are_none(self, shards: dict[Key, int], *, config: BuildConfig, fingerprint: str) -> bool:
        """Whether a build would publish exactly the dataset that is there.

        Its inputs and its files are unchanged, and no recording is to be tried again.

        Args:
            shards: the planned number of shards by source and split.
            fingerprint: the preparation fingerprint.
        """
        return (
            shards == self._shards
            and not self._data.staging.exists()
            and self._has_config(config)
            and all(
                shard.inputs == self._sums[ShardName.parse(shard.name)].hexdigest(fingerprint=fingerprint)
                for shard in self._info.shards
            )
            and all(self._is_final(shard) for shard in self._info.shards)
        )

    def _has_config(self, config: BuildConfig) -> bool:
        """Whether the dataset's own files have the sums that `_SUCCESS` states, and config.yaml is this config."""
        try:
            stated = format_checksums(success_sums(self._info, layout=self._data))
            return (
                self._data.config.read_bytes() == config_document(config) and self._data.success.read_bytes() == stated
            )
        except OSError:
            return False

    def _is_final(self, shard: ShardInfo) -> bool:
        cached = read_cache_of(shard, data=self._data)
        return cached is not None and not cached.report.retried and cached.has_intact_files(data=self._data)
