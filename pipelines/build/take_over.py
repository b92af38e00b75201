"""Taking over of utterances: what an earlier build prepared from the same inputs is not prepared again.

An utterance is found by its input state, in whichever shard of its source it was. One whose file was touched, copied
or moved is found by its id, and taken over if its text and speaker and the sha256 of its recording are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.build.build_cache import CachedShard, read_cache_of
from pipelines.build.older_shards import OlderRow, OlderShard, interrupted_shard, is_intact, published_shard
from pipelines.build.staging import STATE, Staging
from preprocess.utterance import Rejection, Utterance
from shared.dataset import ShardInfo
from shared.layout import SPLITS, Layout, ShardName

# A row of the prepared rows as it is, or with another file and state; or a rejection.
Found = OlderRow | dict[str, Any] | Rejection


class Candidates:
    """The older shards from which one new shard takes utterances over; those of its own split come first.

    Args:
        shards: the shards, and whether each is of the new shard's split.
        published: the published shard of the same name, if there is one and its files are intact.
        sha256: returns that of an utterance's recording, empty if there is none.
    """

    def __init__(
        self,
        shards: Sequence[tuple[OlderShard, bool]] = (),
        *,
        published: CachedShard | None = None,
        sha256: Callable[[Utterance], str] = lambda _: "",
    ):
        self._sha256 = sha256
        self._shards = [shard for shard, _ in shards]
        self._of_split = [shard for shard, is_of_split in shards if is_of_split]
        self.published = published

    def find(self, utterance: Utterance, *, state: bytes) -> Found | None:
        """What an earlier build made of this utterance, if its inputs are the same."""
        for shard in self._shards:
            if (found := shard.find(state)) is not None:
                return _with_custom(found, utterance)
        return next(self._with_equal_content(utterance, state=state), None)

    def _with_equal_content(self, utterance: Utterance, *, state: bytes) -> Iterator[dict[str, Any]]:
        for shard in self._of_split:
            if (found := shard.find_id(utterance.id)) is not None:
                row = found.table.slice(found.row, 1).to_pylist()[0]
                before = (row["original_text"], row["language"], row["speaker"])
                now = (utterance.text, utterance.language, utterance.speaker)
                if before == now and self._sha256(utterance) == row["audio_sha256"]:
                    yield row | {"audio_path": utterance.audio_path, "custom": utterance.custom, STATE: state}


def _with_custom(found: OlderRow | Rejection, utterance: Utterance) -> Found:
    """What an earlier build made, with the custom columns of today."""
    if isinstance(found, Rejection) or found.table["custom"][found.row].as_py() == utterance.custom:
        return found
    return found.table.slice(found.row, 1).to_pylist()[0] | {"custom": utterance.custom}


class OlderUtterances:
    """The utterances of a published dataset and of interrupted builds.

    Args:
        shards: the published shards by name.
        preparation: the preparation fingerprint; shards with another one are not used.
        interrupted: the staging folders of interrupted builds with that fingerprint.
    """

    def __init__(
        self, shards: Mapping[str, ShardInfo], *, data: Layout, preparation: str, interrupted: Sequence[Staging]
    ):
        self._shards, self._data, self._preparation, self._interrupted = shards, data, preparation, interrupted
        names = map(ShardName.parse, shards)
        self._counts = {(name.source, name.split): name.shards for name in names}

    def for_shard(self, shard_name: str, *, sha256: Callable[[Utterance], str]) -> Candidates:
        """The shards of the same source whose interval of the hash overlaps that of this shard.

        Args:
            sha256: returns that of an utterance's recording, empty if there is none.
        """
        own = ShardName.parse(shard_name)
        found: list[tuple[OlderShard, bool]] = []
        staged = (interrupted_shard(shard_name, staging=one, data=self._data) for one in self._interrupted)
        found += [(shard, True) for shard in staged if shard is not None]
        for split in sorted(SPLITS, key=lambda split: split != own.split):
            for name in self._overlapping(own, split=split):
                if (cached := self._cached(name)) is not None:
                    found.append((published_shard(cached, data=self._data), split == own.split))
        return Candidates(found, published=self._cached(shard_name), sha256=sha256)

    def _overlapping(self, own: ShardName, *, split: str) -> Iterator[str]:
        count = self._counts.get((own.source, split), 0)
        first, end = own.shard * count // own.shards, -(-(own.shard + 1) * count // own.shards)
        return (str(ShardName(own.source, split, shard, count)) for shard in range(first, end))

    def _cached(self, name: str) -> CachedShard | None:
        info = self._shards.get(name)
        cached = read_cache_of(info, data=self._data) if info is not None else None
        if cached is None or cached.preparation != self._preparation:
            return None
        return cached if is_intact(cached, data=self._data) else None
