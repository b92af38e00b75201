"""Raw records of a chunk into fields, and those of a batch into tensors of its planned shape.

Whatever is done for a record by itself costs tf.data 15 to 30 µs, so a chunk is parsed and a batch is decoded in a few
vectorised operations. A mel is copied four times on its way: out of the file, out of its record, into its batch's
strings, into its batch. Each copy takes 10 to 20 µs of CPU time a clip, so every one counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import FIELDS, MEL_DTYPES
from shared.vocabulary import PAD_ID, Vocabulary
from trainer.data.record_index import Records
from trainer.data.epoch_order import ChunkOrder
from trainer.data.plan import Bucket
from trainer.data.recordings import ComputedMel

READ = ("frames", "tokens", "utterance_id", "mel")

# A record without a field is refused by the checks: it is not the one that the manifest tells of.
_PARSERS = {
    "bytes": tf.io.FixedLenFeature([], tf.string, b""),
    "int64": tf.io.FixedLenFeature([], tf.int64, 0),
    "int64 list": tf.io.RaggedFeature(tf.int64),
}


# The rest of a record's bytes is passed over.
SPEC = {field.name: _PARSERS[field.kind] for field in FIELDS if field.name in READ}


class Loaded(NamedTuple):
    """A chunk with its records, n of them in the order in which they were read."""

    order: ChunkOrder
    places: tf.Tensor  # [R] int32, of each row of the order among the records; −1 for a row left out as corrupt
    mel: tf.Tensor  # [n] string
    frames: tf.Tensor  # [n] int32
    tokens: tf.Tensor  # int32 of the compact vocabulary, one record's behind another's
    token_starts: tf.Tensor  # [n + 1] int64, of each record in `tokens`


class BatchParser:
    """Parses chunks, and cuts batches of the planned shapes out of them."""

    def __init__(self, buckets: tuple[Bucket, ...], *, records: Records, contract: Contract, vocabulary: Vocabulary):
        self._clips, self._frames, self._tokens = (tf.constant(bound, tf.int32) for bound in zip(*buckets, strict=True))
        is_stored = contract.stores_mels
        self._mel: StoredMel | ComputedMel = (
            StoredMel(contract) if is_stored else ComputedMel(contract, records=records)
        )
        self._row_frames, self._row_tokens = (
            tf.constant(column, tf.int32) for column in (records.frames, records.tokens)
        )
        self._row_names = _hash(tf.constant(records.utterance_id.to_pylist(), tf.string))
        self._vocabulary_table = tf.constant(vocabulary.table(), tf.int32)
        self._padding = int(vocabulary.table()[PAD_ID])

    def parse(self, raw: tf.Tensor, *, rows: tf.Tensor, order: ChunkOrder, places: tf.Tensor) -> Loaded:
        """The chunk of `order` with its records `raw` [n] string, which are those of `rows` [n] int64.

        Raises when run:
            InvalidArgumentError: a record is not the one of the manifest, from which order and shapes were computed.
        """
        parsed = tf.io.parse_example(raw, SPEC)
        frames, tokens = tf.cast(parsed["frames"], tf.int32), parsed["tokens"]
        is_expected = (
            (frames == tf.gather(self._row_frames, rows))
            & (tf.cast(tokens.row_lengths(), tf.int32) == tf.gather(self._row_tokens, rows))
            & (_hash(parsed["utterance_id"]) == tf.gather(self._row_names, rows))
            & self._mel.are_whole(parsed["mel"], frames=frames)
        )
        said = ["a record is not the one of the manifest"]
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(is_expected), said)]):
            compact = tf.gather(self._vocabulary_table, tokens.values)
        return Loaded(order, places, parsed["mel"], frames, compact, tokens.row_splits)

    def cut(self, chunk: Loaded, *, batch: tf.Tensor, part: tf.Tensor, parts: int) -> dict[str, tf.Tensor]:
        """Every `parts`-th row of batch number `batch` of the chunk from `part` on, all [].

        Returns:
            mel [B, F, M] as stored, or float32, frames [B], tokens [B, T], token_counts [B], rows [B]: the records'
            numbers in the split; in int64, for TensorFlow would hold int32 in the host's memory. Rows past the last
            record have no frames, no tokens and the number −1. Padding of mel is log-silence, of tokens 0.
        """
        bucket, start = chunk.order.buckets[batch], chunk.order.starts[batch]
        clips, num_frames, num_tokens = self._clips[bucket], self._frames[bucket], self._tokens[bucket]
        slots = part + parts * tf.range(-(-clips // parts))
        slots = start + tf.boolean_mask(slots, (slots < clips) & (start + slots < tf.size(chunk.places)))
        slots = tf.boolean_mask(slots, tf.gather(chunk.places, slots) >= 0)
        places, rows = tf.gather(chunk.places, slots), tf.gather(chunk.order.rows, slots)
        empty = [[0, -(-clips // parts) - tf.size(slots)]]
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
        }


class StoredMel:
    """The mels of a batch as they stand in the records."""

    def __init__(self, contract: Contract):
        self._n_mels, self._dtype = contract.features.n_mels, tf.dtypes.as_dtype(contract.mel_dtype)
        self._frame_bytes = self._n_mels * self._dtype.size
        self._silence_word = silence_word(contract)

    def are_whole(self, mel: tf.Tensor, *, frames: tf.Tensor) -> tf.Tensor:
        """Whether the bytes [n] are mels of so many frames [n]."""
        return tf.strings.length(mel) == frames * self._frame_bytes

    def __call__(self, mel: tf.Tensor, *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """[B, F, M], padded with log-silence.

        Decoded as int64, several values in each, since the decoder is fastest on them. It pads with zeros; silence is
        written over those in place: whatever passes over all frames to set a few costs as much as the decoder, and a
        scatter that TensorFlow does in place where it may a tenth to a fifth of the whole stream's CPU time. Of equal
        operations in one graph TensorFlow may make one, and two batches then share this memory: as `frames` are the
        records' own, both are silenced alike.

        Args:
            mel: the records' bytes, of as many as there are, B at most.
            rows: [B] the records' numbers, −1 where there is none.
            frames: [B] their lengths, 0 where there is none.
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
    """64 bits full of log-silence in the stored dtype."""
    dtype = MEL_DTYPES[contract.mel_dtype]
    silence = np.full(8 // dtype.itemsize, contract.features.log_silence, dtype)
    return int(silence.view("<i8")[0])


def _hash(names: tf.Tensor | str) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(names, 2**63 - 1)
