"""The mels of a batch from the audio files themselves, for a dataset that stores none.

What is in a file is held against its record: the number of samples, and the mean of each mel band. A recording that
was changed since the build ends training with its name, and never teaches a wrong sound.
"""

from __future__ import annotations

import re

import tensorflow as tf

from shared.dataset import Contract
from shared.records import MOMENTS
from trainer.input.mel import LogMel
from trainer.input.wav import Pcm, check, read_pcm, to_mono

# A clip that is 1 % louder moves every mean by so much; float32's rounding by a millionth.
MEAN_TOLERANCE = 0.01

_COMPLAINT = re.compile(r"assertion failed: \[(.*? recording of .*)\]")


class ComputedMel:
    """The mels of a batch as `preprocess/mel.py` makes them."""

    read = ("mel",)  # of a record: the moments

    def __init__(self, contract: Contract, *, utterance_ids: list[str], paths: list[str], durations_s: list[float]):
        """The lists are by row; paths are those of the manifest."""
        self._spec = contract.features
        self._log_mel = LogMel(contract.features)
        self._ids, self._paths = tf.constant(utterance_ids, tf.string), tf.constant(paths, tf.string)
        rate_hz = contract.features.sample_rate_hz
        self._samples = tf.constant([round(duration_s * rate_hz) for duration_s in durations_s], tf.int32)

    def __call__(
        self, parsed: dict[str, tf.Tensor], *, rows: tf.Tensor, frames: tf.Tensor, num_frames: tf.Tensor
    ) -> tf.Tensor:
        """[B, F, M] float32, padded with log-silence.

        Args:
            parsed: the fields in `read`, [B] each.
            rows: [B] the records' numbers; behind them −1 where there is none.
            frames: [B] their lengths, which those of the recordings imply.
            num_frames: [] F.

        Raises:
            tf.errors.InvalidArgumentError: an audio file is not the one that was measured; `complaint` has the words.
            tf.errors.OpError: it cannot be read.
        """
        spec = self._spec
        present = tf.boolean_mask(rows, rows >= 0)
        paths, samples = tf.gather(self._paths, present), tf.gather(self._samples, present)
        names = tf.strings.join([paths, ": the recording of ", tf.gather(self._ids, present)])
        files = tf.map_fn(tf.io.read_file, paths)
        pcm = read_pcm(files, rate_hz=spec.sample_rate_hz, num_samples=samples, names=names)

        def compute(one: Pcm) -> tuple[tf.Tensor, tf.Tensor]:
            mel = self._log_mel(to_mono(one))
            missing = [[0, num_frames - tf.shape(mel)[0]], [0, 0]]
            return tf.pad(mel, missing, constant_values=spec.log_silence), tf.reduce_mean(mel, axis=0)

        shape = tf.TensorSpec([None, spec.n_mels], tf.float32), tf.TensorSpec([spec.n_mels], tf.float32)
        mels, means = tf.map_fn(compute, pcm, fn_output_signature=shape)
        moments = tf.io.decode_raw(parsed["mel"], tf.float32, fixed_length=MOMENTS * spec.n_mels * tf.float32.size)
        distance = tf.reduce_max(tf.abs(means - moments[: tf.size(present), : spec.n_mels]), axis=1)
        same = check(names, [(distance < MEAN_TOLERANCE, "is not what it was when the dataset was built")])
        empty = [[0, tf.size(rows) - tf.size(present)], [0, 0], [0, 0]]
        with tf.control_dependencies([same]):
            mels = tf.pad(mels, empty, constant_values=spec.log_silence)
        return tf.reshape(mels, [-1, num_frames, spec.n_mels])


def complaint(error: tf.errors.OpError) -> str | None:
    """What an error of the stream says of an audio file; None where it is about something else."""
    found = _COMPLAINT.search(error.message)
    return found[1] if found else None
