"""A chunk of raw records into batches: one parse, one sort, then consecutive slices.

Grouping, parsing and decoding are done for a whole chunk in vectorised operations; what is done record by
record in tf.data costs 15 to 30 µs each. A bucket's left-over records move up into the next larger bucket of
the same chunk, so that only the last batch of a chunk can be partly empty, and no record waits for the next
chunk: the stream has no state but its position.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from shared.dataset import Contract
from shared.records import FIELDS
from trainer.input.plan import Bucket

# What training reads of a record; the rest of its bytes is passed over by the parser.
READ = ("frames", "mel", "tokens")

_PARSERS = {
    "bytes": tf.io.FixedLenFeature([], tf.string),
    "int64": tf.io.FixedLenFeature([], tf.int64),
    "int64 list": tf.io.RaggedFeature(tf.int64),
}
PARSE_SPEC = {field.name: _PARSERS[field.kind] for field in FIELDS if field.name in READ}

_RAW_TYPES = {"float16": (tf.int16, tf.float16), "float32": (tf.int32, tf.float32)}


class Chunk(NamedTuple):
    """Sorted records of a chunk, an empty one behind the last, and the slices that are its batches."""

    mel: tf.Tensor  # [R + 1] string
    frames: tf.Tensor  # [R + 1] int32
    tokens: tf.Tensor  # [R + 1, T] int32, dense ids
    token_counts: tf.Tensor  # [R + 1] int32
    starts: tf.Tensor  # [batches] int32, first record of each batch
    buckets: tf.Tensor  # [batches] int32


class ChunkParser:
    """Cuts chunks of serialised records into batches of the planned shapes."""

    def __init__(self, buckets: tuple[Bucket, ...], *, contract: Contract, vocabulary_table: tf.Tensor):
        self._clips, self._frames, self._tokens = (tf.constant(bound, tf.int32) for bound in zip(*buckets, strict=True))
        self._num_buckets = len(buckets)
        self._spec, self._mel_dtype = contract.features, contract.mel_dtype
        self._vocabulary_table = vocabulary_table

    def sort(self, raw: tf.Tensor, *, seed: tf.Tensor | None) -> Chunk:
        """Parse serialised records [R] and order them by bucket, at random within each where there is a seed [2]."""
        parsed = tf.io.parse_example(raw, PARSE_SPEC)
        frames = tf.cast(parsed["frames"], tf.int32)
        token_counts = tf.cast(parsed["tokens"].row_lengths(), tf.int32)
        tokens = tf.gather(self._vocabulary_table, parsed["tokens"].to_tensor(default_value=1))
        bucket = tf.maximum(tf.searchsorted(self._frames, frames), tf.searchsorted(self._tokens, token_counts))
        order = _order(bucket, seed=seed)
        starts, buckets = self._slices(bucket)
        shuffled = _permutation(tf.size(starts), seed=seed)
        return Chunk(
            mel=tf.concat([tf.gather(parsed["mel"], order), [b""]], 0),
            frames=_gather_padded(frames, order),
            tokens=_gather_padded(tokens, order),
            token_counts=_gather_padded(token_counts, order),
            starts=tf.gather(starts, shuffled),
            buckets=tf.gather(buckets, shuffled),
        )

    def _slices(self, bucket: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Start and bucket of each batch over records sorted by bucket; K is small, so this is unrolled."""
        counts = tf.math.bincount(bucket, minlength=self._num_buckets, maxlength=self._num_buckets)
        starts, buckets, taken, waiting = [], [], tf.constant(0), tf.constant(0)
        for k in range(self._num_buckets):
            waiting += counts[k]
            clips = self._clips[k]
            full = waiting // clips if k < self._num_buckets - 1 else -(-waiting // clips)
            starts.append(taken + tf.range(full) * clips)
            buckets.append(tf.fill([full], k))
            taken += full * clips
            waiting -= full * clips
        return tf.concat(starts, 0), tf.concat(buckets, 0)

    def cut(self, chunk: Chunk, batch: tf.Tensor) -> dict[str, tf.Tensor]:
        """Batch number `batch` of the chunk.

        Returns:
            mel [B, F, M] in the stored dtype, frames [B], tokens [B, T], token_counts [B]; rows past the last
            record have no frames and no tokens. Padding of mel is log-silence, of tokens 0.
        """
        bucket = chunk.buckets[batch]
        clips, num_frames, num_tokens = self._clips[bucket], self._frames[bucket], self._tokens[bucket]
        last = tf.size(chunk.mel) - 1
        rows = tf.minimum(chunk.starts[batch] + tf.range(clips), last)
        frames = tf.gather(chunk.frames, rows)
        return {
            "mel": self._decode(tf.gather(chunk.mel, rows), frames=frames, num_frames=num_frames),
            "frames": frames,
            "tokens": _fit_width(tf.gather(chunk.tokens, rows), num_tokens),
            "token_counts": tf.gather(chunk.token_counts, rows),
        }

    def _decode(self, mel: tf.Tensor, *, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """[B, F, M] of raw bytes [B]. Decoding as integers and a bitcast is faster than as float16."""
        raw_type, mel_type = _RAW_TYPES[self._mel_dtype]
        raw = tf.io.decode_raw(mel, raw_type, fixed_length=num_frames * self._spec.n_mels * raw_type.size)
        values = tf.reshape(tf.bitcast(raw, mel_type), [-1, num_frames, self._spec.n_mels])
        valid = tf.sequence_mask(frames, num_frames)[:, :, None]
        return tf.where(valid, values, tf.constant(self._spec.log_silence, mel_type))


def _order(bucket: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    """The records by bucket, [R] int32."""
    key = tf.cast(bucket, tf.float64)
    if seed is not None:
        key += tf.random.stateless_uniform(tf.shape(bucket), seed, dtype=tf.float64)
    return tf.argsort(key, stable=True)


def _permutation(size: tf.Tensor, *, seed: tf.Tensor | None) -> tf.Tensor:
    numbers = tf.range(size)
    return numbers if seed is None else tf.random.experimental.stateless_shuffle(numbers, seed)


def _gather_padded(values: tf.Tensor, order: tf.Tensor) -> tf.Tensor:
    """The ordered rows and one of zeros behind them."""
    ordered = tf.gather(values, order)
    return tf.concat([ordered, tf.zeros_like(ordered[:1])], 0)


def _fit_width(tokens: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """[B, width]: cut off columns that are padding in every row, or add such columns."""
    tokens = tokens[:, :width]
    return tf.pad(tokens, [[0, 0], [0, width - tf.shape(tokens)[1]]])
