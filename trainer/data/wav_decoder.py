"""Decodes 16-bit PCM wavs in TensorFlow, with errors that name the file.

`tf.audio.decode_wav` knows neither WAVE_FORMAT_EXTENSIBLE nor chunks of odd size, and its errors name no file. The
headers of a batch are read together, because small operations cost more than the work they do.

    RIFF size WAVE { name size content [pad to even] } …     one chunk is `fmt `, one is `data`; numbers little-endian
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from shared.records import PCM_FULL_SCALE

CHUNKS_START = 12  # in bytes
CHUNK_HEADER = 8
FORMAT_BYTES = 16
SHORTEST_WAV = CHUNKS_START + 2 * CHUNK_HEADER + FORMAT_BYTES
PLAIN_PCM, EXTENSIBLE = 1, 0xFFFE
SAMPLE_BYTES = 2
CUT_OFF = "is no wav, or is cut off"


class Pcm(NamedTuple):
    """16-bit samples as stored in files."""

    content: tf.Tensor  # [B] string
    channels: tf.Tensor  # [B] int32


def read_pcm(files: tf.Tensor, *, rate_hz: int, num_samples: tf.Tensor, names: tf.Tensor) -> Pcm:
    """Find the samples in 16-bit PCM wavs.

    Args:
        files: [B] string, contents.
        num_samples: [B] int32, expected per channel.
        names: [B] string, for error messages.

    Raises:
        tf.errors.InvalidArgumentError: a file is no such wav, or has another rate or number of samples.
    """
    file_bytes = tf.strings.length(files)
    with tf.control_dependencies([check_files(names, [(file_bytes >= SHORTEST_WAV, CUT_OFF)])]):
        at_format, at_data = _find(files, b"fmt "), _find(files, b"data")
    found = (at_format + CHUNK_HEADER + FORMAT_BYTES <= file_bytes) & (at_data + CHUNK_HEADER <= file_bytes)
    with tf.control_dependencies([check_files(names, [(found, CUT_OFF)])]):
        form = tf.strings.substr(files, at_format + CHUNK_HEADER, tf.fill(tf.shape(files), FORMAT_BYTES))
        size = _size(files, tf.identity(at_data))
    words = tf.ensure_shape(tf.cast(tf.io.decode_raw(form, tf.uint16), tf.int32), [None, FORMAT_BYTES // 2])
    tag, channels, low_rate, high_rate, _, _, frame_bytes, bits = tf.unstack(words, axis=1)
    is_plain = ((tag == PLAIN_PCM) | (tag == EXTENSIBLE)) & (bits == 8 * SAMPLE_BYTES) & (channels > 0)
    is_plain &= (frame_bytes == SAMPLE_BYTES * channels) & (tf.strings.substr(files, 0, 4) == b"RIFF")
    conditions = [
        (is_plain, "is no 16-bit PCM wav"),
        (low_rate + 65_536 * high_rate == rate_hz, f"is not at {rate_hz} Hz"),
        (size // tf.maximum(frame_bytes, 1) == num_samples, "has another number of samples"),
        (at_data + CHUNK_HEADER + size <= file_bytes, CUT_OFF),
    ]
    with tf.control_dependencies([check_files(names, conditions)]):
        return Pcm(tf.strings.substr(files, at_data + CHUNK_HEADER, frame_bytes * num_samples), tf.identity(channels))


def to_mono(pcm: Pcm) -> tf.Tensor:
    """The mean of the channels of one clip, [S] float32, full scale ±1."""
    values = tf.cast(tf.io.decode_raw(pcm.content, tf.int16), tf.float32) / PCM_FULL_SCALE
    return tf.reduce_mean(tf.reshape(values, [-1, pcm.channels]), axis=1)


def check_files(names: tf.Tensor, conditions: list[tuple[tf.Tensor, str]]) -> tf.Operation:
    """Assert that each of [B] files meets all conditions; the error has the first unmet one of each failing file.

    Args:
        names: [B] string.
        conditions: pairs of a bool tensor [B] and the message for files where it is False.
    """
    messages = tf.fill(tf.shape(names), "")
    for condition, message in reversed(conditions):
        messages = tf.where(condition, messages, message)
    wrong = tf.where(messages != "")[:, 0]
    lines = tf.strings.join([tf.gather(names, wrong), tf.gather(messages, wrong)], " ")
    return tf.debugging.Assert(tf.size(wrong) == 0, [tf.strings.reduce_join(lines, separator="; ")])


def _find(files: tf.Tensor, name: bytes) -> tf.Tensor:
    """The offset of the first chunk of that name, [B]; without one, the end of the file or beyond."""
    last = tf.strings.length(files) - CHUNK_HEADER
    four = tf.fill(tf.shape(files), 4)

    def is_another(at: tf.Tensor) -> tf.Tensor:
        return (at <= last) & (tf.strings.substr(files, tf.minimum(at, last), four) != name)

    def behind(at: tf.Tensor) -> tf.Tensor:
        size = _size(files, tf.minimum(at, last))
        fits = (size >= 0) & (size <= last - at)  # a damaged size may be any number
        return tf.where(fits, at + CHUNK_HEADER + size + size % 2, last + CHUNK_HEADER)

    return tf.while_loop(
        lambda at: tf.reduce_any(is_another(at)),
        lambda at: (tf.where(is_another(at), behind(at), at),),
        [tf.fill(tf.shape(files), CHUNKS_START)],
    )[0]


def _size(files: tf.Tensor, at: tf.Tensor) -> tf.Tensor:
    """The size of a chunk's content by its header, in bytes, [B]."""
    return tf.io.decode_raw(tf.strings.substr(files, at + 4, tf.fill(tf.shape(files), 4)), tf.int32)[:, 0]
