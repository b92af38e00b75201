"""Computes the mels of a batch from the audio files, for a dataset that stores no mels.

Each file is compared with its record: number of samples, mean and drift of each mel band. If a recording has changed
since the build, training stops with an error that names it.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import NUM_MOMENTS
from trainer.data.log_mel import LogMel
from trainer.data.record_index import RecordIndex
from trainer.data.wav_decoder import Pcm, check_files, read_pcm, to_mono
from trainer.platform.tf_errors import is_momentary

# Making a clip 1 % louder moves every mean by this much, and starting its speech one frame later moves some drifts;
# float32's rounding moves them by a millionth. (A reversed clip has the same means.)
TOLERANCE = 0.01

_RECORDING_ERROR = re.compile(r"assertion failed: \[(.* recording of .*)\]")


class OnlineMel:
    """The mels of a batch, as `preprocess/mel.py` defines them."""

    def __init__(self, contract: Contract, *, records: RecordIndex):
        self._spec = contract.features
        self._log_mel = LogMel(contract.features)
        self._paths = tf.constant(records.audio_path.to_pylist(), tf.string)
        ids = tf.constant(records.utterance_id.to_pylist(), tf.string)
        # absolute, since a relative path depends on the folder in which training runs
        absolute = tf.constant([str(Path(path).absolute()) for path in records.audio_path.to_pylist()], tf.string)
        self._names = tf.strings.join([absolute, ": the recording of ", ids])
        self._samples = tf.constant(np.rint(records.duration_s * contract.features.sample_rate_hz), tf.int32)

    def is_valid(self, moments: tf.Tensor, *, frames: tf.Tensor) -> tf.Tensor:
        """True for bytes [n] that are moments, which such records hold in the place of mels."""
        return tf.strings.length(moments) == NUM_MOMENTS * self._spec.n_mels * tf.float32.size

    def __call__(self, moments: tf.Tensor, *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """Compute a batch: [B, F, M] float32, padded with log-silence.

        Args:
            moments: the records' bytes, at most B of them.
            rows: [B] the records' numbers, then −1 for empty rows.
            frames: [B] lengths.
            num_frames: [] F.

        Raises:
            tf.errors.InvalidArgumentError: an audio file differs from its record; `recording_error` has the message.
            tf.errors.OpError: it cannot be read.
        """
        count = tf.size(moments)
        empty = tf.size(rows) - count
        no_mels = tf.zeros([0, num_frames, self._spec.n_mels])  # `map_fn` cannot infer the shape without a clip
        mels = tf.cond(
            count > 0,
            lambda: self._compute(rows[:count], frames=frames[:count], moments=moments, num_frames=num_frames),
            lambda: no_mels,
        )
        mels = tf.pad(mels, [[0, empty], [0, 0], [0, 0]], constant_values=self._spec.log_silence)
        return tf.reshape(mels, [-1, num_frames, self._spec.n_mels])

    def _compute(self, rows: tf.Tensor, *, frames: tf.Tensor, moments: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """Padded mels of recordings, each checked against its record: frames [B], moments [B] string."""
        spec, samples = self._spec, tf.gather(self._samples, rows)
        names = tf.gather(self._names, rows)
        files = tf.map_fn(tf.io.read_file, tf.gather(self._paths, rows))
        pcm = read_pcm(files, rate_hz=spec.sample_rate_hz, num_samples=samples, names=names)

        def compute(one: Pcm) -> tuple[tf.Tensor, tf.Tensor]:
            mel = self._log_mel(to_mono(one))
            missing = [[0, num_frames - tf.shape(mel)[0]], [0, 0]]
            return tf.pad(mel, missing, constant_values=spec.log_silence), tf.matmul(
                _time_weights(tf.shape(mel)[0]), mel
            )

        shapes = tf.TensorSpec([None, spec.n_mels], tf.float32), tf.TensorSpec([2, spec.n_mels], tf.float32)
        fits = check_files(names, [(spec.num_frames(samples) == frames, "gives another number of frames")])
        with tf.control_dependencies([fits]):
            mels, found = tf.map_fn(compute, pcm, fn_output_signature=shapes)
        distance = tf.reduce_max(tf.abs(found - self._mean_and_drift(moments)), axis=[1, 2])
        same = check_files(names, [(distance < TOLERANCE, "is not what it was when the dataset was built")])
        with tf.control_dependencies([same]):
            return tf.identity(mels)

    def _mean_and_drift(self, moments: tf.Tensor) -> tf.Tensor:
        """The values [B, 2, M] in the records' bytes [B]."""
        size = NUM_MOMENTS * self._spec.n_mels * tf.float32.size
        values = tf.io.decode_raw(moments, tf.float32, fixed_length=size)
        return tf.reshape(values, [-1, NUM_MOMENTS, self._spec.n_mels])[:, ::2]


def _time_weights(frames: tf.Tensor) -> tf.Tensor:
    """Weights [2, F] that turn a mel into its mean and drift: 1 and the time from −1 to 1, divided by F."""
    times = 2 * tf.range(frames) / tf.maximum(frames - 1, 1) - 1
    return tf.cast(tf.stack([tf.ones_like(times), times]) / tf.cast(frames, times.dtype), tf.float32)


def recording_error(error: Exception, *, records: RecordIndex) -> str | None:
    """The message of a stream's error that concerns a recording; None for other errors.

    An error of a disk or a network that may be over when it is read again is another one.
    """
    if found := _RECORDING_ERROR.search(str(error)):
        return found[1]
    if is_momentary(error):
        return None
    # TensorFlow's own operations name the file at most
    rows = zip(records.audio_path.to_pylist(), records.utterance_id.to_pylist(), strict=True)
    named = [row for row in rows if row[0] in str(error)]
    if not named:
        return None
    path, utterance_id = max(named, key=lambda row: len(row[0]))
    reason = str(error).splitlines()[0].rpartition("; ")[2]
    return f"{path}: the recording of {utterance_id} cannot be read ({reason})"
