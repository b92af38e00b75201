"""Random segments of recordings with their mels: the input of a vocoder's training.

Which segments a step gets is a function of the manifest, the settings, the seed and the step's number. So a stream can
start at any step, and continues there as an uninterrupted one. Each epoch takes every clip once, in another order.

    step ──► rows, offsets ──► wav files ──► samples ──► reflected at the clip's ends, cut ──► mel [F, M], samples [S]

The mel of a segment is that part of the clip's mel, value by value: frames at its ends see the samples around it. With
predicted mels, it is that part of the mel that an acoustic model predicted for the clip.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.data.dataset_checks import refuse_missing_shards
from trainer.data.log_mel import LogMel
from trainer.data.online_mel import recording_error
from trainer.data.position import Position
from trainer.data.record_index import read_record_index
from trainer.data.wav_decoder import Pcm, read_pcm, to_mono
from trainer.vocoder_training.predicted_mels import PredictedMels

PREFETCHED = 4  # batches

Segments = dict[str, tf.Tensor]


class SegmentStream:
    """Segments of the recordings of one split."""

    def __init__(
        self,
        dataset: Dataset,
        *,
        split: str,
        segment_frames: int,
        segment_samples: int,
        batch_size: int,
        seed: int,
        mels: PredictedMels | None = None,
    ):
        """
        Args:
            segment_samples: S, the samples that the generator gives for the frames.
            mels: the mels of the segments; clips without one are left out. None: the recordings' own mels.

        Raises:
            UserError: the dataset stores mels and has no recordings, or too few clips are long enough.
        """
        root, contract = dataset.layout.root, dataset.info.contract
        if contract.stores_mels:
            raise UserError(
                f"{root}: stores mels; a vocoder is trained on recordings, so build the dataset with mel_dtype=none"
            )
        refuse_missing_shards(dataset, split=split)
        self._records = records = read_record_index(dataset, split=split)
        self._spec, self._log_mel = contract.features, LogMel(contract.features)
        self._frames, self._samples, self._batch_size, self._seed = segment_frames, segment_samples, batch_size, seed
        ids = records.utterance_id.to_pylist()
        mel_paths = mels.paths(ids) if mels else ids
        has_mel = np.array([path != "" for path in mel_paths], bool)
        self.clips_without_mel = int(np.sum(~has_mel))
        rows = np.flatnonzero((records.frames >= segment_frames) & has_mel)
        if len(rows) < batch_size:
            kind = f" and a mel in {mels.folder}" if mels else ""
            same = ", or predict the mels of a dataset of the same corpus" if mels else ""
            raise UserError(
                f"{root}: {len(rows):,} clips of the split {split} have {segment_frames} frames or more{kind}, and a "
                f"batch takes {batch_size}; lower batch_size or segment_frames{same}"
            )
        self._rows, self._mels = rows, mels
        paths, ids, mel_paths = (
            [column[row] for row in rows] for column in (records.audio_path.to_pylist(), ids, mel_paths)
        )
        self._paths, self._ids, self._mel_paths = (tf.constant(column, tf.string) for column in (paths, ids, mel_paths))
        self._names = tf.constant(
            [f"{Path(path).absolute()}: the recording of {name}" for path, name in zip(paths, ids, strict=True)]
        )
        durations = np.rint(records.duration_s[rows] * contract.features.sample_rate_hz)
        self._num_samples, self._num_frames = (
            tf.constant(column, tf.int32) for column in (durations, records.frames[rows])
        )

    @property
    def clips(self) -> int:
        """The number of clips that are long enough."""
        return len(self._rows)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides which segments a step gets."""
        facts: list[object] = [self._frames, self._batch_size, self._seed, self._records.utterance_id.to_pylist()]
        if self._mels:
            facts += [self._rows.tolist(), self._mels.info.checkpoint_sha256]
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    def position(self, step: int) -> Position:
        """The epoch and the place in it after so many steps, for messages."""
        epoch, clip = divmod(step * self._batch_size, self.clips)
        return Position(epoch, 0, clip // self._batch_size)

    def batches(self, step: int) -> Iterator[Segments]:
        """The segments of step `step` (from 0) and of all later ones: mel [B, F, M] and samples [B, S], float32.

        Raises:
            UserError: a recording cannot be read, or is not what it was when the dataset was built; or a mel.
        """
        numbers = tf.data.Dataset.counter(start=step)
        batches = numbers.map(self._batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        device = "/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"
        batches = batches.apply(tf.data.experimental.prefetch_to_device(device, buffer_size=PREFETCHED))
        try:
            yield from batches
        except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError, tf.errors.PermissionDeniedError) as error:
            if self._mels and (message := self._mels.error_message(error)):
                raise UserError(message) from error
            if (message := recording_error(error, records=self._records)) is None:
                raise
            advice = "put the file back that the dataset was built from, or build it again"
            raise UserError(f"{message}; {advice}") from error

    def _batch(self, step: tf.Tensor) -> Segments:
        clips = self._clips_of(step)
        room = tf.gather(self._num_frames, clips) - self._frames + 1
        draws = tf.random.stateless_uniform([self._batch_size], [self._seed, 2 * step + 1])
        starts = tf.minimum(tf.cast(draws * tf.cast(room, tf.float32), tf.int32), room - 1)
        files = tf.map_fn(tf.io.read_file, tf.gather(self._paths, clips))
        pcm = read_pcm(
            files,
            rate_hz=self._spec.sample_rate_hz,
            num_samples=tf.gather(self._num_samples, clips),
            names=tf.gather(self._names, clips),
        )
        shapes = (
            tf.TensorSpec([self._frames, self._spec.n_mels], tf.float32),
            tf.TensorSpec([self._samples], tf.float32),
        )
        given = (pcm, starts) if self._mels is None else (pcm, starts, self._read_mels(clips, mels=self._mels))
        mels, samples = tf.map_fn(lambda one: self._cut(*one), given, fn_output_signature=shapes)
        return {"mel": mels, "samples": samples}

    def _read_mels(self, clips: tf.Tensor, *, mels: PredictedMels) -> tf.Tensor:
        """The predicted mels [B] string of clips."""
        names, frames = tf.gather(self._ids, clips), tf.gather(self._num_frames, clips)
        return mels.read(tf.gather(self._mel_paths, clips), names=names, frames=frames)

    def _clips_of(self, step: tf.Tensor) -> tf.Tensor:
        """The clips [B] of a step: the next ones of the epoch's order, which may go over into the next epoch."""
        places = step * self._batch_size + tf.range(self._batch_size, dtype=tf.int64)
        epochs, places = places // self.clips, places % self.clips
        first = epochs[0]
        orders = [
            tf.random.experimental.stateless_shuffle(tf.range(self.clips), [self._seed, 2 * (first + later)])
            for later in (0, 1)
        ]
        return tf.where(epochs == first, *(tf.gather(order, places) for order in orders))

    def _cut(self, pcm: Pcm, start: tf.Tensor, predicted: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """The mel and the samples of a segment that begins with frame `start`."""
        spec = self._spec
        padded, begin = self._log_mel.pad(to_mono(pcm)), start * spec.hop_samples
        heard = padded[begin + spec.pad_samples : begin + spec.pad_samples + self._samples]
        if self._mels:
            return self._mels.decode(predicted)[start : start + self._frames], heard
        seen = padded[begin : begin + (self._frames - 1) * spec.hop_samples + spec.n_fft]
        return self._log_mel.of_padded(seen), heard
