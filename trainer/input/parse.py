"""Raw records of a batch into tensors of its planned shape.

Whatever is done for a record by itself costs tf.data 15 to 30 µs, so a batch is parsed and decoded in a few
vectorised operations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import FIELDS, MEL_DTYPES
from shared.vocabulary import PAD_ID, Vocabulary
from trainer.input.blocks import Records
from trainer.input.epoch import ChunkOrder
from trainer.input.plan import Bucket
from trainer.input.recordings import ComputedMel

# What a record is known and checked by; the decoder of mels names what it needs itself.
READ = ("frames", "tokens", "utterance_id")

# A record without a field is refused by the checks: it is not the one that the manifest tells of.
_PARSERS = {
    "bytes": tf.io.FixedLenFeature([], tf.string, b""),
    "int64": tf.io.FixedLenFeature([], tf.int64, 0),
    "int64 list": tf.io.RaggedFeature(tf.int64),
}


def parse_spec(names: tuple[str, ...]) -> dict:
    """How TensorFlow parses these fields of a record; the rest of its bytes is passed over."""
    return {field.name: _PARSERS[field.kind] for field in FIELDS if field.name in names}


class Loaded(NamedTuple):
    """A chunk with its records."""

    order: ChunkOrder
    places: tf.Tensor  # [R] int32, of each row of the order in `raw`; −1 for a row that is left out as corrupt
    raw: tf.Tensor  # [n] string


class BatchParser:
    """Cuts batches of the planned shapes out of chunks."""

    def __init__(self, buckets: tuple[Bucket, ...], *, records: Records, contract: Contract, vocabulary: Vocabulary):
        self._clips, self._frames, self._tokens = (tf.constant(bound, tf.int32) for bound in zip(*buckets, strict=True))
        is_stored = contract.stores_mels
        self._mel: StoredMel | ComputedMel = (
            StoredMel(contract) if is_stored else ComputedMel(contract, records=records)
        )
        self._spec = parse_spec((*READ, *self._mel.read))
        self._row_frames, self._row_tokens = (
            tf.constant(column, tf.int32) for column in (records.frames, records.tokens)
        )
        self._row_names = _hash(tf.constant(records.utterance_id.to_pylist(), tf.string))
        self._vocabulary_table = tf.constant(vocabulary.table())

    def cut(self, chunk: Loaded, *, batch: tf.Tensor, part: tf.Tensor, parts: int) -> dict[str, tf.Tensor]:
        """Every `parts`-th row of batch number `batch` of the chunk from `part` on, all [].

        Returns:
            mel [B, F, M] as stored, or float32, frames [B], tokens [B, T], token_counts [B] int32, rows [B] int64: the
            records' numbers in the split. Rows past the last record have no frames, no tokens and the number −1.
            Padding of mel is log-silence, of tokens 0.
        """
        bucket, start = chunk.order.buckets[batch], chunk.order.starts[batch]
        clips, num_frames, num_tokens = self._clips[bucket], self._frames[bucket], self._tokens[bucket]
        slots = part + parts * tf.range(-(-clips // parts))
        slots = start + tf.boolean_mask(slots, (slots < clips) & (start + slots < tf.size(chunk.places)))
        slots = tf.boolean_mask(slots, tf.gather(chunk.places, slots) >= 0)
        empty = -(-clips // parts) - tf.size(slots)
        rows, raw = tf.gather(chunk.order.rows, slots), tf.gather(chunk.raw, tf.gather(chunk.places, slots))
        # most batches have no empty row and are spared the copy
        raw = tf.cond(empty > 0, lambda: tf.concat([raw, tf.fill([empty], b"")], 0), lambda: raw)
        rows = tf.pad(rows, [[0, empty]], constant_values=-1)
        parsed = tf.io.parse_example(raw, self._spec)
        frames, tokens = tf.cast(parsed["frames"], tf.int32), parsed["tokens"]
        token_counts = tf.cast(tokens.row_lengths(), tf.int32)
        expected = self._are_expected(parsed, rows=rows, frames=frames, token_counts=token_counts)
        with tf.control_dependencies([tf.debugging.Assert(expected, ["a record is not the one of the manifest"])]):
            dense = tf.gather(
                self._vocabulary_table, tokens.to_tensor(default_value=PAD_ID, shape=tf.stack([-1, num_tokens]))
            )
            mel = self._mel(parsed, rows=rows, frames=frames, num_frames=num_frames)
        return {"mel": mel, "frames": frames, "tokens": dense, "token_counts": token_counts, "rows": rows}

    def _are_expected(
        self, parsed: dict[str, tf.Tensor], *, rows: tf.Tensor, frames: tf.Tensor, token_counts: tf.Tensor
    ) -> tf.Tensor:
        """Whether these records are those of the manifests, from which the order and the shapes were computed."""
        row = tf.maximum(rows, 0)
        there = (
            (frames == tf.gather(self._row_frames, row))
            & (token_counts == tf.gather(self._row_tokens, row))
            & (_hash(parsed["utterance_id"]) == tf.gather(self._row_names, row))
        )
        return tf.reduce_all(tf.where(rows < 0, (frames == 0) & (token_counts == 0), there))


class StoredMel:
    """The mels of a batch as they stand in the records."""

    read = ("mel",)

    def __init__(self, contract: Contract):
        self._n_mels, self._dtype = contract.features.n_mels, tf.dtypes.as_dtype(contract.mel_dtype)
        self._silence_word = silence_word(contract)

    def __call__(
        self, parsed: dict[str, tf.Tensor], *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor
    ) -> tf.Tensor:
        """[B, F, M], padded with log-silence.

        Decoded as int64, several values in each, since the decoder is fastest on them; it pads with zero bits, to
        which the bits of silence are added: 43 µs of CPU time a clip, where a select on float16 takes 72.

        Args:
            parsed: the fields in `read`, [B] each.
            rows: [B] the records' numbers, −1 where there is none.
            frames: [B] their lengths.
            num_frames: [] F.
        """
        frame_bytes = self._n_mels * self._dtype.size
        is_whole = tf.reduce_all(tf.strings.length(parsed["mel"]) == frames * frame_bytes)
        with tf.control_dependencies([tf.debugging.Assert(is_whole, ["a mel is not of the length that it states"])]):
            words = tf.io.decode_raw(parsed["mel"], tf.int64, fixed_length=num_frames * frame_bytes)
        words = tf.reshape(words, [-1, num_frames, frame_bytes // tf.int64.size])
        padding = tf.cast(~tf.sequence_mask(frames, num_frames), tf.int64)[:, :, None]
        values = tf.bitcast(words + padding * self._silence_word, self._dtype)
        return tf.reshape(values, [-1, num_frames, self._n_mels])


def silence_word(contract: Contract) -> int:
    """64 bits full of log-silence in the stored dtype."""
    dtype = MEL_DTYPES[contract.mel_dtype]
    silence = np.full(8 // dtype.itemsize, contract.features.log_silence, dtype)
    return int(silence.view("<i8")[0])


def _hash(names: tf.Tensor | str) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(names, 2**63 - 1)
