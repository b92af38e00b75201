"""A chunk of raw records into batches: one parse, one sort, then consecutive slices.

Grouping, parsing and decoding are done for a whole chunk in vectorised operations; what is done record by
record in tf.data costs 15 to 30 µs each. A bucket's left-over records move up into the next larger bucket of
the same chunk, so that only the last batch of a chunk can be partly empty, and no record waits for the next
chunk: the stream has no state but its position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import FIELDS, MEL_DTYPES
from shared.vocabulary import PAD_ID
from trainer.input.plan import Bucket

# What training reads of a record; the rest of its bytes is passed over by the parser.
READ = ("frames", "mel", "tokens")

_PARSERS = {
    "bytes": tf.io.FixedLenFeature([], tf.string),
    "int64": tf.io.FixedLenFeature([], tf.int64),
    "int64 list": tf.io.RaggedFeature(tf.int64),
}
PARSE_SPEC = {field.name: _PARSERS[field.kind] for field in FIELDS if field.name in READ}


class Chunk(NamedTuple):
    """Sorted records of a chunk, an empty one behind the last, and the slices that are its batches.

    The mels, nearly all of the bytes, stay where the parser put them; a batch takes its own by `order`.
    """

    mel: tf.Tensor  # [R] string, as read
    order: tf.Tensor  # [R + 1] int32, place of each sorted record in `mel`
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
        self._spec, self._mel_type = contract.features, tf.dtypes.as_dtype(contract.mel_dtype)
        self._silence_word = silence_word(contract)
        self._vocabulary_table = vocabulary_table

    def sort(self, raw: tf.Tensor, *, seed: tf.Tensor | None) -> Chunk:
        """Parse serialised records [R] and order them by bucket, at random within each where there is a seed [2]."""
        parsed = tf.io.parse_example(raw, PARSE_SPEC)
        frames = tf.cast(parsed["frames"], tf.int32)
        token_counts = tf.cast(parsed["tokens"].row_lengths(), tf.int32)
        tokens = tf.gather(self._vocabulary_table, parsed["tokens"].to_tensor(default_value=PAD_ID))
        bucket = tf.maximum(tf.searchsorted(self._frames, frames), tf.searchsorted(self._tokens, token_counts))
        order = _order(bucket, seed=seed)
        starts, buckets = self._slices(bucket)
        shuffled = _permutation(tf.size(starts), seed=seed)
        return Chunk(
            mel=parsed["mel"],
            order=tf.concat([order, [0]], 0),
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
        rows = tf.minimum(chunk.starts[batch] + tf.range(clips), tf.size(chunk.mel))
        frames, mel = tf.gather(chunk.frames, rows), tf.gather(chunk.mel, tf.gather(chunk.order, rows))
        # an empty row points at some record; batches without one are spared the copy that the select makes
        mel = tf.cond(tf.reduce_all(frames > 0), lambda: mel, lambda: tf.where(frames > 0, mel, b""))
        return {
            "mel": self._decode(mel, frames=frames, num_frames=num_frames),
            "frames": frames,
            "tokens": _fit_width(tf.gather(chunk.tokens, rows), num_tokens),
            "token_counts": tf.gather(chunk.token_counts, rows),
        }

    def _decode(self, mel: tf.Tensor, *, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """[B, F, M] of raw bytes [B], padded with log-silence.

        Decoded as int64, several values in each, since the decoder is fastest on them; it pads with zero bits, to
        which the bits of silence are added: 43 µs of CPU time a clip, where a select on float16 takes 72.
        """
        frame_bytes = self._spec.n_mels * self._mel_type.size
        words = tf.io.decode_raw(mel, tf.int64, fixed_length=num_frames * frame_bytes)
        words = tf.reshape(words, [-1, num_frames, frame_bytes // tf.int64.size])
        padding = tf.cast(~tf.sequence_mask(frames, num_frames), tf.int64)[:, :, None]
        values = tf.bitcast(words + padding * self._silence_word, self._mel_type)
        return tf.reshape(values, [-1, num_frames, self._spec.n_mels])


def silence_word(contract: Contract) -> int:
    """64 bits full of log-silence in the stored dtype."""
    dtype = MEL_DTYPES[contract.mel_dtype]
    silence = np.full(8 // dtype.itemsize, contract.features.log_silence, dtype)
    return int(silence.view("<i8")[0])


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
