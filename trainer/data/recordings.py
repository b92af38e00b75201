"""The mels of a batch from the audio files themselves, for a dataset that stores none.

What is in a file is held against its record: the number of samples, mean and drift of each mel band. A recording that
was changed since the build ends training with its name, and never teaches a wrong sound.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import tensorflow as tf

from shared.dataset import Contract
from shared.records import NUM_MOMENTS
from trainer.data.record_index import Records
from trainer.data.online_mel import LogMel
from trainer.data.wav_decoder import Pcm, check, read_pcm, to_mono

# A clip that is 1 % louder moves every mean by so much, and one whose speech begins a frame later some drifts;
# float32's rounding moves them by a millionth. (Backwards a clip has the same means.)
TOLERANCE = 0.01

_COMPLAINT = re.compile(r"assertion failed: \[(.* recording of .*)\]")


class ComputedMel:
    """The mels of a batch as `preprocess/mel.py` makes them."""

    def __init__(self, contract: Contract, *, records: Records):
        self._spec = contract.features
        self._log_mel = LogMel(contract.features)
        self._paths = tf.constant(records.audio_path.to_pylist(), tf.string)
        ids = tf.constant(records.utterance_id.to_pylist(), tf.string)
        # in full, as a relative one is one of the folder that this runs in
        in_full = tf.constant([str(Path(path).absolute()) for path in records.audio_path.to_pylist()], tf.string)
        self._names = tf.strings.join([in_full, ": the recording of ", ids])
        self._samples = tf.constant(np.rint(records.duration_s * contract.features.sample_rate_hz), tf.int32)

    def are_whole(self, moments: tf.Tensor, *, frames: tf.Tensor) -> tf.Tensor:
        """Whether the bytes [n], which stand where mels would, are moments, of clips of whatever length."""
        return tf.strings.length(moments) == NUM_MOMENTS * self._spec.n_mels * tf.float32.size

    def __call__(self, moments: tf.Tensor, *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """[B, F, M] float32, padded with log-silence.

        Args:
            moments: the records' bytes, of as many as there are, B at most.
            rows: [B] the records' numbers; behind them −1 where there is none.
            frames: [B] their lengths.
            num_frames: [] F.

        Raises:
            tf.errors.InvalidArgumentError: an audio file is not the one that was measured; `complaint` has the words.
            tf.errors.OpError: it cannot be read.
        """
        there = tf.size(moments)
        empty = tf.size(rows) - there
        nothing = tf.zeros([0, num_frames, self._spec.n_mels])  # of no clip `map_fn` could not tell the shape
        mels = tf.cond(
            there > 0,
            lambda: self._compute(rows[:there], frames=frames[:there], moments=moments, num_frames=num_frames),
            lambda: nothing,
        )
        mels = tf.pad(mels, [[0, empty], [0, 0], [0, 0]], constant_values=self._spec.log_silence)
        return tf.reshape(mels, [-1, num_frames, self._spec.n_mels])

    def _compute(self, rows: tf.Tensor, *, frames: tf.Tensor, moments: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        """The mels of some recordings, padded, each held against its record: frames [B], moments [B] string."""
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
        fits = check(names, [(spec.num_frames(samples) == frames, "gives another number of frames")])
        with tf.control_dependencies([fits]):
            mels, found = tf.map_fn(compute, pcm, fn_output_signature=shapes)
        distance = tf.reduce_max(tf.abs(found - self._mean_and_drift(moments)), axis=[1, 2])
        same = check(names, [(distance < TOLERANCE, "is not what it was when the dataset was built")])
        with tf.control_dependencies([same]):
            return tf.identity(mels)

    def _mean_and_drift(self, moments: tf.Tensor) -> tf.Tensor:
        """[B, 2, M] of the records' bytes [B]."""
        size = NUM_MOMENTS * self._spec.n_mels * tf.float32.size
        values = tf.io.decode_raw(moments, tf.float32, fixed_length=size)
        return tf.reshape(values, [-1, NUM_MOMENTS, self._spec.n_mels])[:, ::2]


def _time_weights(frames: tf.Tensor) -> tf.Tensor:
    """What makes mean and drift of a mel, [2, F]: 1 and the time from −1 to 1, over F."""
    times = 2 * tf.range(frames) / tf.maximum(frames - 1, 1) - 1
    return tf.cast(tf.stack([tf.ones_like(times), times]) / tf.cast(frames, times.dtype), tf.float32)


def complaint(error: Exception, *, records: Records) -> str | None:
    """What an error of the stream says of a recording; None where it is about something else."""
    if found := _COMPLAINT.search(str(error)):
        return found[1]
    # an operation of TensorFlow's own names the file at most
    rows = zip(records.audio_path.to_pylist(), records.utterance_id.to_pylist(), strict=True)
    named = [row for row in rows if row[0] in str(error)]
    if not named:
        return None
    path, utterance_id = max(named, key=lambda one: len(one[0]))
    reason = str(error).splitlines()[0].rpartition("; ")[2]
    return f"{path}: the recording of {utterance_id} cannot be read ({reason})"
