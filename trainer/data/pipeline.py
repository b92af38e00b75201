"""The stream of batches: from file names to tensors on the device, resumable anywhere."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.platform.tf_errors import is_collective_error, is_device_error
from trainer.data.record_index import cut_blocks, read_records
from trainer.config.data_config import InputConfig
from trainer.data.corrupt_records import Damage, first_damage
from trainer.data.epoch_order import EpochOrder, VERSION
from trainer.data.graph import Batch, BatchGraph, HOST
from trainer.data.dataset_checks import refuse_missing_shards
from trainer.data.epoch_preview import Filled, first_epoch
from trainer.data.parser import BatchParser
from trainer.data.plan import Plan
from trainer.data.position import Position, Share
from trainer.data.recordings import complaint
from trainer.data.buckets import assign

# What reading raises where a record is corrupt, or a file cannot be read; anything else is a fault of ours.
_UNREADABLE = (
    tf.errors.AbortedError,  # ESTALE: of a file on the network
    tf.errors.DataLossError,
    tf.errors.DeadlineExceededError,  # ETIMEDOUT
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnavailableError,
    tf.errors.UnknownError,
    UnicodeDecodeError,  # TensorFlow's own, from a message in which it quotes a record that is no text
)


class Stream:
    """Batches of one split of a dataset."""

    def __init__(
        self,
        dataset: Dataset,
        *,
        split: str,
        plan: Plan,
        config: InputConfig,
        seed: int,
        weights: np.ndarray | None = None,
    ):
        """
        Args:
            weights: [rows] how often an epoch hears each record of the split, on average; as the plan says if None.

        Raises:
            UserError: a manifest or a shard is absent, or they do not belong together.
        """
        refuse_missing_shards(dataset, split=split)
        self._split = split
        self.config, self._dataset, self._seed, self._buckets = config, dataset, seed, plan.buckets
        self._records = read_records(dataset, split=split)
        self._blocks = cut_blocks(self._records, chunk_bytes=config.chunk_bytes)
        self._weights = plan.rates[split] if weights is None else weights
        self._bucket = assign(plan.buckets, self._records.frames, self._records.tokens)
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        contract = dataset.info.contract
        with tf.device(HOST):
            self._order = self._make_order(weights=self._weights, seed=seed)
            parser = BatchParser(plan.buckets, records=self._records, contract=contract, vocabulary=vocabulary)
        self._graph = BatchGraph(
            self._blocks,
            records=self._records,
            parser=parser,
            readers=config.num_parallel_reads,
            stores_mels=contract.stores_mels,
        )
        self.damaged: list[Damage] = []  # records that were met and skipped
        self._kept_graph: tuple[object, tf.data.Dataset] | None = None

    @property
    def fingerprint(self) -> str:
        """Of everything that decides the order of batches; positions of another fingerprint mean other batches."""
        facts = {
            "version": VERSION,
            "shards": self._shards,
            "weights": hashlib.blake2b(self._weights.tobytes()).hexdigest(),
            "buckets": self._buckets,
            "chunk_bytes": self.config.chunk_bytes,
            "seed": self._seed,
        }
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    @property
    def contents(self) -> str:
        """A fingerprint of the records that are heard at all, in whatever order."""
        return hashlib.blake2b(json.dumps(self._shards).encode() + self.heard.tobytes(), digest_size=16).hexdigest()

    @property
    def _shards(self) -> list[tuple[str, str]]:
        """Names and sums."""
        return [(shard.name, shard.sha256) for shard in self._dataset.info.shards_of(self._split)]

    @property
    def heard(self) -> np.ndarray:
        """The rows of those, in the manifest's order."""
        return np.flatnonzero((self._bucket < len(self._buckets)) & (self._weights > 0))

    @property
    def element_spec(self) -> dict[str, tf.TensorSpec]:
        """Kinds and what is known of the shapes of a batch's tensors."""
        return self.batches(Position()).element_spec

    def first_epoch(self) -> Filled:
        """What epoch 0 puts into each bucket."""
        return first_epoch(self._order, frames=self._records.frames, buckets=self._buckets)

    def utterance_ids(self, rows: np.ndarray) -> list[str]:
        """The names of a batch's records; of its empty rows, none."""
        return [self._records.utterance_id[int(row)].as_py() for row in rows if row >= 0]

    def endless(
        self,
        position: Position = Position(),  # noqa: B008 (immutable)
        *,
        device: str,
        tell: Callable[[str], object] = warnings.warn,
    ) -> Iterator[Batch]:
        """Epoch after epoch from `position` on, each in an order of its own; every batch says where the next one is.

        The continuation from a position is the one that an undisturbed stream would have had, whatever `readers`
        are. `tell` hears of each corrupt record that was skipped, where the settings allow any.

        Raises:
            UserError: a shard cannot be read, or more records are corrupt than the settings allow.
        """
        return self.dealt(self._dealer(self._order, until=None, device=device), position=position, tell=tell)

    def dealt(
        self, deal: Callable[[Position], Iterable[Batch]], *, position: Position, tell: Callable[[str], object]
    ) -> Iterator[Batch]:
        """The same where `deal` brings the batches from a position on to devices, their `next` being one tensor."""
        if not (self._weights[self._bucket < len(self._buckets)] > 0).any():
            raise UserError(f"{self._dataset.layout.root}: no record fits a bucket and has a weight: nothing to stream")
        return self._deliver(self._order, deal, position=position, tell=tell)

    def epochs(
        self,
        until: int,
        *,
        position: Position = Position(),  # noqa: B008 (immutable)
        device: str,
        tell: Callable[[str], object] = warnings.warn,
    ) -> Iterator[Batch]:
        """The same up to the end of epoch `until - 1`."""
        deal = self._dealer(self._order, until=until, device=device)
        return self._deliver(self._order, deal, position=position, tell=tell)

    def once(self, *, device: str, tell: Callable[[str], object] = warnings.warn) -> Iterator[Batch]:
        """Every record that is not left out once, in the same order each time: by bucket within each chunk."""
        order = self._order_of_all
        deal = self._dealer(order, until=1, device=device)

        def deal_kept(position: Position) -> Iterable[Batch]:
            return deal(position) if position != Position() else self._kept(deal, device=device)

        for batch in self._deliver(order, deal_kept, position=Position(), tell=tell):
            del batch["next"]
            yield batch

    def _kept(self, deal: Callable[[Position], tf.data.Dataset], *, device: str) -> tf.data.Dataset:
        """The graph from the start on, made once for all records that are left out: its functions are never freed."""
        key = device, len(self.damaged)
        if self._kept_graph is None or self._kept_graph[0] != key:
            self._kept_graph = key, deal(Position())
        return self._kept_graph[1]

    def batches(
        self,
        position: Position,
        *,
        until: int | None = None,
        share: Share = Share(),  # noqa: B008 (immutable)
    ) -> tf.data.Dataset:
        """The graph of `endless` or `epochs` on the host, for who deals its batches to devices himself.

        An element is a part of a batch; those of one batch that are in the share follow one another.
        """
        return self._batches(self._order, position, until=until, share=share)

    def _batches(self, order: EpochOrder, position: Position, *, until: int | None, share: Share) -> tf.data.Dataset:
        left_out = {damage.row for damage in self.damaged}
        return self._graph.batches(order, position=position, until=until, share=share, left_out=left_out)

    @functools.cached_property
    def _order_of_all(self) -> EpochOrder:
        with tf.device(HOST):
            return self._make_order(weights=(self._weights > 0).astype(np.float32), seed=None)

    def _make_order(self, *, weights: np.ndarray, seed: int | None) -> EpochOrder:
        return EpochOrder(
            self._blocks,
            bucket=self._bucket,
            weights=weights,
            buckets=self._buckets,
            chunk_bytes=self.config.chunk_bytes,
            seed=seed,
        )

    def _dealer(self, order: EpochOrder, *, until: int | None, device: str) -> Callable[[Position], tf.data.Dataset]:
        """What brings whole batches to one device."""
        return lambda position: self._to_device(
            self._batches(order, position, until=until, share=Share()), device=device
        )

    def _deliver(
        self,
        order: EpochOrder,
        deal: Callable[[Position], Iterable[Batch]],
        *,
        position: Position,
        tell: Callable[[str], object],
    ) -> Iterator[Batch]:
        """Batches as they are dealt; after a corrupt record that may be skipped, a new graph without it goes on."""
        reached: Position | tf.Tensor = position
        while True:
            try:
                for batch in deal(Position(*map(int, reached))):
                    reached = batch["next"]
                    yield batch
                return
            except _UNREADABLE as error:
                if is_device_error(error) or is_collective_error(error):
                    raise
                self._skip_damage(error, order=order, position=Position(*map(int, reached)), tell=tell)

    def _to_device(self, batches: tf.data.Dataset, *, device: str) -> tf.data.Dataset:
        return batches.apply(tf.data.experimental.prefetch_to_device(device, buffer_size=self.config.prefetch_batches))

    def _skip_damage(
        self,
        error: tf.errors.OpError | UnicodeDecodeError,
        *,
        order: EpochOrder,
        position: Position,
        tell: Callable[[str], object],
    ) -> None:
        """Take the corrupt records out of those that are read from now on; their places in batches stay empty."""
        computes = not self._dataset.info.contract.stores_mels
        if computes and (said := complaint(error, records=self._records)):
            raise UserError(
                f"{said}; put the file back that the dataset was built from, or run `make preprocess` again, which "
                "takes the recordings as they are now"
            ) from error
        found = first_damage(
            order,
            position=position,
            known={damage.row for damage in self.damaged},
            records=self._records,
            contract=self._dataset.info.contract,
        )
        root, allowed = self._dataset.layout.root, self.config.max_corrupt_records
        if not found:
            reason = str(error).splitlines()[0].rpartition("}} ")[2]
            raise UserError(
                f"{root}: reading failed ({reason}), yet every record there is whole when it is read again: the disk "
                f"or the network may be failing; run the same command again, or `make validate DATA={root}`"
            ) from error
        self.damaged += found
        if len(self.damaged) > allowed:
            near = f", and {len(found) - 1} near it" if found[1:] else ""
            raise UserError(
                f"{found[0]}{near}; `make validate DATA={root}` finds all such, `make repair DATA={root}` mends them; "
                f"input.max_corrupt_records, now {allowed}, skips so many"
            ) from error
        for number, damage in enumerate(found, len(self.damaged) - len(found) + 1):
            tell(f"{damage}; skipped, {number} of {allowed} that input.max_corrupt_records allows")
