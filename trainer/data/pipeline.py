"""The input stream: batches of one split, from shard files to the device, resumable at any batch."""

from __future__ import annotations

import functools
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.config.data_config import InputConfig
from trainer.data.buckets import assign_buckets
from trainer.data.corrupt_records import CorruptRecord, find_corrupt_records
from trainer.data.dataset_checks import refuse_missing_shards
from trainer.data.epoch_order import VERSION, EpochOrder
from trainer.data.epoch_preview import EpochStats, first_epoch_stats
from trainer.data.graph import HOST, Batch, BatchGraph
from trainer.data.online_mel import recording_error
from trainer.data.parser import BatchParser
from trainer.data.plan import Plan
from trainer.data.position import FINGERPRINT_SEPARATOR, Position, Share
from trainer.data.record_index import cut_blocks, read_record_index
from trainer.data.references import ReferenceChooser, reference_share, share_with_another
from trainer.platform.tf_errors import is_collective_error, is_device_error

RETRY_PAUSES_S = (1.0, 5.0, 20.0, 60.0)  # before reading again where every record is whole when it is looked at

# Errors of reading: a corrupt record, or a file that cannot be read. Any other error is a bug.
_UNREADABLE = (
    tf.errors.AbortedError,  # ESTALE, of a network file system
    tf.errors.DataLossError,
    tf.errors.DeadlineExceededError,  # ETIMEDOUT
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnavailableError,
    tf.errors.UnknownError,
    UnicodeDecodeError,  # TensorFlow fails to decode its own message, which quotes a corrupt record
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
        vocabulary: Vocabulary | None = None,
        crop_frames: int | None = None,
    ):
        """Read the manifests of the split and prepare the order of its epochs.

        Args:
            vocabulary: that numbers the tokens; None: the dataset's.
            crop_frames: longest reference from another clip, if `config.reference` asks for such ones; None: none.

        Raises:
            UserError: a manifest or a shard is absent, or they do not belong together.
        """
        refuse_missing_shards(dataset, split=split)
        self.split = split
        self.config, self._dataset, self._seed, self._buckets = config, dataset, seed, plan.buckets
        self._records = read_record_index(dataset, split=split)
        self._blocks = cut_blocks(self._records, chunk_bytes=config.chunk_bytes)
        self._weights = plan.rates[split]  # [rows] how often an epoch samples each record, on average
        self._bucket = assign_buckets(plan.buckets, self._records.frames, self._records.tokens)
        vocabulary = vocabulary or Vocabulary.load(dataset.layout.vocabulary)
        contract = dataset.info.contract
        with tf.device(HOST):
            self._order = self._make_order(weights=self._weights, seed=seed)
            share, self._references = reference_share(config.reference), None
            if share and crop_frames:
                chooser = ReferenceChooser(dataset, split=split, crop_frames=crop_frames, share=share, seed=seed)
                self._references = chooser
            parser = BatchParser(
                plan.buckets,
                records=self._records,
                contract=contract,
                vocabulary=vocabulary,
                references=self._references,
            )
        self._graph = BatchGraph(
            self._blocks,
            records=self._records,
            parser=parser,
            num_parallel_reads=config.num_parallel_reads,
            stores_mels=contract.stores_mels,
        )
        self.corrupt_records: list[CorruptRecord] = []  # found and skipped so far
        self._cached_graph: tuple[object, tf.data.Dataset] | None = None

    @property
    def fingerprint(self) -> str:
        """Hashes of everything that decides the order of chunks, and of what decides the batches in each besides.

        Positions are valid for one fingerprint only. The number of a chunk is valid as long as the first hash is.
        """
        weights = np.where(self._bucket < len(self._buckets), self._weights, 0)
        chunks = {
            "version": VERSION,
            "shards": self._shards,
            "weights": hashlib.blake2b(weights.tobytes()).hexdigest(),
            "chunk_bytes": self.config.chunk_bytes,
            "seed": self._seed,
        }
        hashes = (hashlib.blake2b(json.dumps(one).encode(), digest_size=16) for one in (chunks, self._buckets))
        return FINGERPRINT_SEPARATOR.join(one.hexdigest() for one in hashes)

    @property
    def contents(self) -> str:
        """A hash of the set of records that the stream samples, in whatever order."""
        facts = json.dumps(self._shards).encode() + self.sampled_rows.tobytes()
        return hashlib.blake2b(facts, digest_size=16).hexdigest()

    @property
    def _shards(self) -> list[tuple[str, str]]:
        """Names and sha256."""
        return [(shard.name, shard.sha256) for shard in self._dataset.info.shards_of(self.split)]

    @property
    def sampled_rows(self) -> np.ndarray:
        """The rows that the stream samples at all, in the manifest's order."""
        return np.flatnonzero((self._bucket < len(self._buckets)) & (self._weights > 0))

    @functools.cached_property
    def element_spec(self) -> dict[str, tf.TensorSpec]:
        """Dtypes and partly known shapes of a batch's tensors."""
        return self.batches(Position()).element_spec

    def first_epoch_stats(self) -> EpochStats:
        """Batches and padding of epoch 0 in each bucket."""
        return first_epoch_stats(self._order, frames=self._records.frames, buckets=self._buckets)

    def share_with_references(self) -> float | None:
        """The share of clips beside which epoch 0 reads another clip of the speaker; None without such references."""
        if self._references is None:
            return None
        with tf.device(HOST):
            return share_with_another(self._order, speakers=self._references.speakers)

    def utterance_ids(self, rows: np.ndarray) -> list[str]:
        """The ids of a batch's records, without its empty rows."""
        return [self._records.utterance_id[int(row)].as_py() for row in rows if row >= 0]

    def endless(
        self,
        position: Position = Position(),  # noqa: B008 (immutable)
        *,
        device: str,
        log: Callable[[str], object] = warnings.warn,
    ) -> Iterator[Batch]:
        """Batches of all epochs from `position` on, without end; each epoch has an order of its own.

        `next` of a batch is the position after it, [3] int64. A stream that starts there continues exactly as an
        uninterrupted one, with any `num_parallel_reads`.

        Args:
            device: to which batches are copied ahead.
            log: receives a line for each corrupt record that is skipped, if the settings allow any.

        Raises:
            UserError: a shard cannot be read, or more records are corrupt than the settings allow.
        """
        make_batches = self._batch_maker(self._order, until=None, device=device)
        return self.distributed(make_batches, position=position, log=log)

    def distributed(
        self,
        make_batches: Callable[[Position], Iterable[Batch]],
        *,
        position: Position,
        log: Callable[[str], object],
    ) -> Iterator[Batch]:
        """`endless` with batches from `make_batches`, which copies them from a position on to several devices.

        The `next` of each of its batches has to be a single tensor.
        """
        if not (self._weights[self._bucket < len(self._buckets)] > 0).any():
            raise UserError(f"{self._dataset.layout.root}: no record fits a bucket and has a weight: nothing to stream")
        return self._deliver(self._order, make_batches, position=position, log=log)

    def once(self, *, device: str, log: Callable[[str], object] = warnings.warn) -> Iterator[Batch]:
        """Every sampled record once, in the same order each time: by bucket within each chunk."""
        order = self._unshuffled_order
        make_batches = self._batch_maker(order, until=1, device=device)

        def make_cached_batches(position: Position) -> Iterable[Batch]:
            return make_batches(position) if position != Position() else self._cached(make_batches, device=device)

        for batch in self._deliver(order, make_cached_batches, position=Position(), log=log):
            del batch["next"]
            yield batch

    def _cached(self, make_batches: Callable[[Position], tf.data.Dataset], *, device: str) -> tf.data.Dataset:
        """The graph from the first batch on, one for each set of corrupt records: TensorFlow frees no function."""
        key = device, len(self.corrupt_records)
        if self._cached_graph is None or self._cached_graph[0] != key:
            self._cached_graph = key, make_batches(Position())
        return self._cached_graph[1]

    def batches(
        self,
        position: Position,
        *,
        share: Share = Share(),  # noqa: B008 (immutable)
    ) -> tf.data.Dataset:
        """The graph of `endless` on the host, for a caller that copies batches to devices itself.

        An element is a part of a batch; the parts of one batch that are in the share follow one another.
        """
        return self._batches(self._order, position, until=None, share=share)

    def _batches(self, order: EpochOrder, position: Position, *, until: int | None, share: Share) -> tf.data.Dataset:
        left_out = {record.row for record in self.corrupt_records}
        return self._graph.batches(order, position=position, until=until, share=share, left_out=left_out)

    @functools.cached_property
    def _unshuffled_order(self) -> EpochOrder:
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

    def _batch_maker(
        self, order: EpochOrder, *, until: int | None, device: str
    ) -> Callable[[Position], tf.data.Dataset]:
        """A function from a position to the dataset of whole batches on one device."""
        return lambda position: self._to_device(
            self._batches(order, position, until=until, share=Share()), device=device
        )

    def _deliver(
        self,
        order: EpochOrder,
        make_batches: Callable[[Position], Iterable[Batch]],
        *,
        position: Position,
        log: Callable[[str], object],
    ) -> Iterator[Batch]:
        """The batches; after a corrupt record that may be skipped, a new graph without it continues.

        Where every record is whole when it is looked at, a disk or a network failed for a moment: a new graph continues
        after a pause, up to four times in a row.
        """
        reached: Position | tf.Tensor = position
        pauses_s = iter(RETRY_PAUSES_S)
        while True:
            try:
                for batch in make_batches(Position(*map(int, reached))):
                    reached, pauses_s = batch["next"], iter(RETRY_PAUSES_S)
                    yield batch
                return
            except _UNREADABLE as error:
                if is_device_error(error) or is_collective_error(error):
                    raise
                if self._skip_corrupt(error, order=order, position=Position(*map(int, reached)), log=log):
                    continue
                self._pause_before_retry(error, pause_s=next(pauses_s, None), log=log)

    def _pause_before_retry(
        self, error: tf.errors.OpError | UnicodeDecodeError, *, pause_s: float | None, log: Callable[[str], object]
    ) -> None:
        """Wait before reading again; raises UserError if `pause_s` is None, after the last attempt."""
        root, reason = self._dataset.layout.root, str(error).splitlines()[0].rpartition("}} ")[2]
        message = f"{root}: reading failed ({reason}), though no record there is damaged"
        if pause_s is None:
            raise UserError(
                f"{message}: the disk or the network may be failing; run the same command again, or "
                f"`make validate DATA={root}`"
            ) from error
        log(f"{message}; trying again in {pause_s:g} s")
        time.sleep(pause_s)

    def _to_device(self, batches: tf.data.Dataset, *, device: str) -> tf.data.Dataset:
        return batches.apply(tf.data.experimental.prefetch_to_device(device, buffer_size=self.config.prefetch_batches))

    def _skip_corrupt(
        self,
        error: tf.errors.OpError | UnicodeDecodeError,
        *,
        order: EpochOrder,
        position: Position,
        log: Callable[[str], object],
    ) -> bool:
        """Find the corrupt records and leave them out from now on; their rows in batches stay empty.

        Returns:
            True if there are any.
        """
        contract = self._dataset.info.contract
        if not contract.stores_mels and (message := recording_error(error, records=self._records)):
            raise UserError(
                f"{message}; put the file back that the dataset was built from, or run `make preprocess` again, which "
                "takes the recordings as they are now"
            ) from error
        found = find_corrupt_records(
            order,
            position=position,
            known={record.row for record in self.corrupt_records},
            records=self._records,
            contract=contract,
        )
        root, allowed = self._dataset.layout.root, self.config.max_corrupt_records
        if not found:
            return False
        self.corrupt_records += found
        if len(self.corrupt_records) > allowed:
            near = f", and {len(found) - 1} near it" if found[1:] else ""
            raise UserError(
                f"{found[0]}{near}; `make validate DATA={root}` finds all corrupt records, `make repair DATA={root}` "
                f"fixes them; input.max_corrupt_records, now {allowed}, is the number that training may skip"
            ) from error
        for number, record in enumerate(found, len(self.corrupt_records) - len(found) + 1):
            log(f"{record}; skipped, {number} of {allowed} that input.max_corrupt_records allows")
        return True
