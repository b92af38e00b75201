"""The samples of a wav in TensorFlow, every complaint with the name of the file.

`tf.audio.decode_wav` knows neither WAVE_FORMAT_EXTENSIBLE nor chunks of odd size, and its errors name no file.

    RIFF size WAVE { name size content [pad to even] } …     one chunk is `fmt `, one is `data`; numbers little-endian
"""

from __future__ import annotations

import tensorflow as tf

CHUNKS_START = 12  # in bytes
CHUNK_HEADER = 8
FORMAT_BYTES = 16
PLAIN_PCM, EXTENSIBLE = 1, 0xFFFE
SAMPLE_BYTES = 2
FULL_SCALE = 32768.0


def decode_wav(file: tf.Tensor, *, rate_hz: int, num_samples: tf.Tensor, name: tf.Tensor) -> tf.Tensor:
    """The mean of the channels of a 16-bit PCM wav, [S] float32, full scale ±1.

    Args:
        file: its bytes, [] string.
        num_samples: S, [] int32.
        name: what errors call it, [] string.

    Raises:
        tf.errors.InvalidArgumentError: it is no such wav, has another rate, or another number of samples.
    """
    file_bytes = tf.strings.length(file)
    at_format, at_data = _find(file, b"fmt "), _find(file, b"data")
    found = (at_format + CHUNK_HEADER + FORMAT_BYTES <= file_bytes) & (at_data + CHUNK_HEADER <= file_bytes)
    with tf.control_dependencies([_check(found, name, "is no wav, or is cut off")]):
        form = tf.strings.substr(file, at_format + CHUNK_HEADER, FORMAT_BYTES)
        size = _size(file, tf.identity(at_data))
    tag, channels, low_rate, high_rate, _, _, frame_bytes, bits = tf.unstack(
        tf.cast(tf.ensure_shape(tf.io.decode_raw(form, tf.uint16), [FORMAT_BYTES // 2]), tf.int32)
    )
    is_plain = ((tag == PLAIN_PCM) | (tag == EXTENSIBLE)) & (bits == 8 * SAMPLE_BYTES) & (channels > 0)
    is_plain &= (frame_bytes == SAMPLE_BYTES * channels) & (tf.strings.substr(file, 0, 4) == b"RIFF")
    checks = [
        _check(is_plain, name, "is no 16-bit PCM wav"),
        _check(low_rate + 65_536 * high_rate == rate_hz, name, f"is not at {rate_hz} Hz"),
        _check(size // tf.maximum(frame_bytes, 1) == num_samples, name, "has another number of samples"),
        _check(at_data + CHUNK_HEADER + size <= file_bytes, name, "is cut off"),
    ]
    with tf.control_dependencies(checks):
        content = tf.strings.substr(file, at_data + CHUNK_HEADER, frame_bytes * num_samples)
    values = tf.cast(tf.io.decode_raw(content, tf.int16), tf.float32) / FULL_SCALE
    return tf.reduce_mean(tf.reshape(values, [num_samples, channels]), axis=1)


def _find(file: tf.Tensor, wanted: bytes) -> tf.Tensor:
    """Where the first chunk of that name begins; at the end of the file or behind it where there is none."""
    last = tf.strings.length(file) - CHUNK_HEADER

    def is_another(at: tf.Tensor) -> tf.Tensor:
        return (at <= last) & (tf.strings.substr(file, tf.clip_by_value(at, 0, tf.maximum(last, 0)), 4) != wanted)

    def behind(at: tf.Tensor) -> tf.Tensor:
        size = _size(file, at)
        fits = (size >= 0) & (size <= last - at)  # a damaged size may be any number
        return tf.where(fits, at + CHUNK_HEADER + size + size % 2, last + CHUNK_HEADER)

    return tf.while_loop(is_another, lambda at: (behind(at),), [tf.constant(CHUNKS_START)])[0]


def _size(file: tf.Tensor, at: tf.Tensor) -> tf.Tensor:
    """What the header of a chunk says of its content, in bytes."""
    return tf.io.decode_raw(tf.strings.substr(file, at + 4, 4), tf.int32)[0]


def _check(condition: tf.Tensor, name: tf.Tensor, complaint: str) -> tf.Operation:
    return tf.debugging.Assert(condition, [tf.strings.join([name, complaint], " ")])
