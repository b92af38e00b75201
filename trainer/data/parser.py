"""Parses the raw records of a chunk, and cuts batches of the planned shapes out of it.

Any work for a single record costs tf.data 15 to 30 µs, so a whole chunk is parsed and a whole batch is decoded in a few
vectorised operations. A mel is copied four times on its way: out of the file, out of its record, into its batch's
strings, into its batch. Each copy takes 10 to 20 µs of CPU time per clip.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import FIELDS, MEL_DTYPES
from shared.vocabulary import PAD_ID, Vocabulary
from trainer.data.bucket_types import Bucket
from trainer.data.epoch_order import ChunkOrder
from trainer.data.online_mel import OnlineMel
from trainer.data.record_index import RecordIndex
from trainer.data.references import ReferenceChooser, ReferenceParts, cut_mels

PARSED_FIELDS = ("frames", "tokens", "utterance_id", "mel")

# A missing field gets a default, and the comparison with the manifest then refuses the record.
_FEATURES = {
    "bytes": tf.io.FixedLenFeature([], tf.string, b""),
    "int64": tf.io.FixedLenFeature([], tf.int64, 0),
    "int64 list": tf.io.RaggedFeature(tf.int64),
}


SPEC = {field.name: _FEATURES[field.kind] for field in FIELDS if field.name in PARSED_FIELDS}


class ParsedChunk(NamedTuple):
    """The order of a chunk with its n records, in the order in which they were read."""

    order: ChunkOrder
    places: tf.Tensor  # [R] int32, index of each row of the order among the records; −1: left out as corrupt
    mel: tf.Tensor  # [n] string
    frames: tf.Tensor  # [n] int32
    tokens: tf.Tensor  # int32 of the compact vocabulary, of all records one after another
    token_starts: tf.Tensor  # [n + 1] int64, start of each record in `tokens`
    references: tuple[()] | ReferenceParts  # of the n records


class BatchParser:
    """Parses chunks, and cuts batches of the planned shapes out of them."""

    def __init__(
        self,
        buckets: tuple[Bucket, ...],
        *,
        records: RecordIndex,
        contract: Contract,
        vocabulary: Vocabulary,
        references: ReferenceChooser | None = None,
    ):
        """`references` chooses parts of other clips; None: batches have no references."""
        self._bounds = tf.constant(buckets, tf.int32)  # [K, 3]: clips, frames, tokens
        self._contract, self._references = contract, references
        is_stored = contract.stores_mels
        self._mel: StoredMel | OnlineMel = StoredMel(contract) if is_stored else OnlineMel(contract, records=records)
        self._row_frames, self._row_tokens = (
            tf.constant(column, tf.int32) for column in (records.frames, records.tokens)
        )
        self._row_names = _hash(tf.constant(records.utterance_id.to_pylist(), tf.string))
        self._vocabulary_table = tf.constant(vocabulary.table(), tf.int32)
        self._padding = int(vocabulary.table()[PAD_ID])

    def parse(
        self, raw: tf.Tensor, *, rows: tf.Tensor, order: ChunkOrder, places: tf.Tensor, place: tf.Tensor
    ) -> ParsedChunk:
        """Parse the records of a chunk.

        Args:
            raw: [n] string, serialised records.
            rows: [n] int64, the row of each record.
            places: [R] int32, the index in `raw` of each row of `order`.
            place: [2] int64, epoch and chunk.

        Raises when run:
            InvalidArgumentError: a record is not the manifest's, on which order and shapes are based.
        """
        parsed = tf.io.parse_example(raw, SPEC)
        frames, tokens = tf.cast(parsed["frames"], tf.int32), parsed["tokens"]
        is_expected = (
            (frames == tf.gather(self._row_frames, rows))
            & (tf.cast(tokens.row_lengths(), tf.int32) == tf.gather(self._row_tokens, rows))
            & (_hash(parsed["utterance_id"]) == tf.gather(self._row_names, rows))
            & self._mel.is_valid(parsed["mel"], frames=frames)
        )
        message = ["a record is not the one of the manifest"]
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(is_expected), message)]):
            compact = tf.gather(self._vocabulary_table, tokens.values)
        references = self._references.choose(rows, frames=frames, place=place) if self._references else ()
        return ParsedChunk(order, places, parsed["mel"], frames, compact, tokens.row_splits, references)

    def cut(self, chunk: ParsedChunk, *, batch: tf.Tensor, part: tf.Tensor, parts: int) -> dict[str, tf.Tensor]:
        """Cut one part of a batch: every `parts`-th row of batch `batch` [], from row `part` [] on.

        Returns:
            mel [B, F, M] in the stored dtype or float32, frames [B], tokens [B, T], token_counts [B], rows [B]: the
            records' numbers in the split. Integers are int64, because TensorFlow would keep int32 in the host's
            memory. Empty rows have no frames, no tokens and the number −1. Padding is log-silence in mels and the
            padding token in tokens. With references also reference [B, C, M], zeros past reference_frames [B].
        """
        bucket, start = tf.gather(chunk.order.buckets, batch), tf.gather(chunk.order.starts, batch)
        clips, num_frames, num_tokens = tf.unstack(tf.gather(self._bounds, bucket))
        first, end = start + part, tf.minimum(start + clips, tf.size(chunk.places))
        all_slots = tf.range(first, tf.maximum(first, end), parts)  # a part may have no row of the last batch
        places, rows = tf.gather(chunk.places, all_slots), tf.gather(chunk.order.rows, all_slots)
        readable = tf.squeeze(tf.where(places >= 0), 1)
        places, rows = tf.gather(places, readable), tf.gather(rows, readable)
        empty = [[0, (clips + parts - 1) // parts - tf.size(readable)]]
        frames = tf.pad(tf.gather(chunk.frames, places), empty)
        rows = tf.pad(rows, empty, constant_values=-1)
        all_tokens = tf.RaggedTensor.from_row_splits(chunk.tokens, chunk.token_starts, validate=False)
        tokens = tf.gather(all_tokens, places).to_tensor(self._padding, shape=tf.stack([-1, num_tokens]))
        tokens = tf.pad(tokens, [*empty, [0, 0]], constant_values=self._padding)
        return {
            "mel": self._mel(tf.gather(chunk.mel, places), rows=rows, frames=frames, num_frames=num_frames),
            "frames": tf.cast(frames, tf.int64),
            "tokens": tf.cast(tokens, tf.int64),
            "token_counts": tf.pad(tf.gather(all_tokens.row_lengths(), places), empty),
            "rows": rows,
            **self._cut_references(chunk, places=places, empty=empty),
        }

    def _cut_references(self, chunk: ParsedChunk, *, places: tf.Tensor, empty: list) -> dict[str, tf.Tensor]:
        """The references of the records at `places`, with `empty` rows after them; nothing without references."""
        if self._references is None:
            return {}
        parts = ReferenceParts(*(tf.pad(tf.gather(one, places), empty) for one in chunk.references))
        frames = self._references.crop_frames
        mel = tf.cond(
            tf.size(chunk.mel) > 0,
            lambda: cut_mels(chunk.mel, parts=parts, num_frames=frames, contract=self._contract),
            lambda: tf.zeros([tf.size(parts.frames), frames, self._contract.features.n_mels], self._contract.mel_dtype),
        )
        return {"reference": mel, "reference_frames": tf.cast(parts.frames, tf.int64)}


class StoredMel:
    """Decodes the mels that the records store."""

    def __init__(self, contract: Contract):
        self._n_mels, self._dtype = contract.features.n_mels, tf.dtypes.as_dtype(contract.mel_dtype)
        self._frame_bytes = self._n_mels * self._dtype.size
        self._silence_word = silence_word(contract)

    def is_valid(self, mel: tf.Tensor, *, frames: tf.Tensor) -> tf.Tensor:
        """True for bytes [n] that are mels of `frames` [n] frames."""
        return tf.strings.length(mel) == frames * self._frame_bytes

    def __call__(self, mel: tf.Tensor, *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """Decode a batch: [B, F, M], padded with log-silence.

        Several values are decoded together as an int64, for which the decoder is fastest. It pads with zeros, which
        are then overwritten with silence in place: a pass over all frames would cost as much as the decoder, and a
        scatter, which TensorFlow does in place only sometimes, a tenth to a fifth of the whole stream's CPU time.
        TensorFlow may merge equal operations of one graph, so that two batches share this memory; because `frames` are
        the records' own, both get silence in the same places.

        Args:
            mel: the records' bytes, at most B of them.
            rows: [B] the records' numbers, −1 for empty rows.
            frames: [B] lengths, 0 for empty rows.
            num_frames: [] F.
        """
        row_words = self._frame_bytes // tf.int64.size
        mel = tf.pad(mel, [[0, tf.size(rows) - tf.size(mel)]])
        words = tf.io.decode_raw(mel, tf.int64, fixed_length=num_frames * self._frame_bytes)
        silent = tf.where(tf.reshape(~tf.sequence_mask(frames, num_frames), [-1]))[:, 0]
        silence = tf.fill([tf.size(silent), row_words], tf.constant(self._silence_word, tf.int64))
        words = tf.raw_ops.InplaceUpdate(x=tf.reshape(words, [-1, row_words]), i=tf.cast(silent, tf.int32), v=silence)
        return tf.reshape(tf.bitcast(words, self._dtype), [-1, num_frames, self._n_mels])


def silence_word(contract: Contract) -> int:
    """Log-silence in the stored dtype, repeated to 64 bits."""
    dtype = MEL_DTYPES[contract.mel_dtype]
    silence = np.full(8 // dtype.itemsize, contract.features.log_silence, dtype)
    return int(silence.view("<i8")[0])


def _hash(names: tf.Tensor | str) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(names, 2**63 - 1)
