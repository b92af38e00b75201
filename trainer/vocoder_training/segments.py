"""Random segments of recordings with their mels: the input of a vocoder's training.

Which segments a step gets is a function of the manifest, the settings, the seed and the step's number. So a stream can
start at any step, and continues there as an uninterrupted one. Each epoch takes every clip once, in another order.

    step ──► rows, offsets ──► records or wavs ──► samples, reflected at the ends, cut ──► mel [F, M], samples [S]

The mel of a segment is that part of the clip's mel, value by value: frames at its ends see the samples around it. With
predicted mels, it is that part of the mel that an acoustic model predicted for the clip.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.data.dataset_checks import refuse_missing_shards
from trainer.data.log_mel import LogMel
from trainer.data.pipeline import RETRY_PAUSES_S
from trainer.data.position import Position
from trainer.data.record_index import read_record_index
from trainer.data.wav_decoder import Pcm, to_mono
from trainer.data.waveforms import open_waveforms
from trainer.platform.tf_errors import first_line, is_momentary
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
            UserError: the dataset has neither waveforms nor recordings, or too few clips are long enough.
        """
        root, contract = dataset.layout.root, dataset.info.contract
        refuse_missing_shards(dataset, split=split)
        self._records = records = read_record_index(dataset, split=split)
        self._waveforms = open_waveforms(dataset, records=records)
        self._contract = contract
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
        self._ids, self._mel_paths = (
            tf.constant([column[row] for row in rows], tf.string) for column in (ids, mel_paths)
        )
        self._row_of_clip = tf.constant(rows, tf.int32)
        self._num_frames = tf.constant(records.frames[rows], tf.int32)

    @property
    def clips(self) -> int:
        """The number of clips that are long enough."""
        return len(self._rows)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides which segments a step gets."""
        facts: list[object] = [self._frames, self._batch_size, self._seed, self._records.utterance_id.to_pylist()]
        if self._contract.stores_waveforms:  # recordings are not processed
            facts += [self._contract.processing.model_dump(), self._records.frames.tolist()]
        if self._mels:
            facts += [self._rows.tolist(), self._mels.info.checkpoint_sha256]
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()

    def position(self, step: int) -> Position:
        """The epoch and the place in it after so many steps, for messages."""
        epoch, clip = divmod(step * self._batch_size, self.clips)
        return Position(epoch, 0, clip // self._batch_size)

    def batches(self, step: int, *, log: Callable[[str], object]) -> Iterator[Segments]:
        """The segments of step `step` (from 0) and of all later ones: mel [B, F, M] and samples [B, S], float32.

        Where a disk or a network fails for a moment, reading goes on after a pause, up to four times in a row.

        Args:
            log: receives a line before each pause.

        Raises:
            UserError: a record, a recording or a mel cannot be read, or is not what it was when the dataset was built.
        """
        pauses_s = iter(RETRY_PAUSES_S)
        while True:
            try:
                for batch in self._prefetched(step):
                    step, pauses_s = step + 1, iter(RETRY_PAUSES_S)
                    yield batch
            except tf.errors.OpError as error:
                if not is_momentary(error):
                    message = self._mels.error_message(error) if self._mels else None
                    message = message or self._waveforms.error_message(error)
                    if message is None:
                        raise
                    raise UserError(message) from error
                _pause(error, pause_s=next(pauses_s, None), log=log)

    def _prefetched(self, step: int) -> tf.data.Dataset:
        numbers = tf.data.Dataset.counter(start=step)
        batches = numbers.map(self._batch, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        device = "/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"
        return batches.apply(tf.data.experimental.prefetch_to_device(device, buffer_size=PREFETCHED))

    def _batch(self, step: tf.Tensor) -> Segments:
        clips = self._clips_of(step)
        room = tf.gather(self._num_frames, clips) - self._frames + 1
        draws = tf.random.stateless_uniform([self._batch_size], [self._seed, 2 * step + 1])
        starts = tf.minimum(tf.cast(draws * tf.cast(room, tf.float32), tf.int32), room - 1)
        pcm = self._waveforms.read(tf.gather(self._row_of_clip, clips))
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


def _pause(error: tf.errors.OpError, *, pause_s: float | None, log: Callable[[str], object]) -> None:
    """Wait before reading again; raises UserError if `pause_s` is None, after the last attempt."""
    message = f"reading the data failed ({first_line(error)})"
    if pause_s is None:
        raise UserError(f"{message}: the disk or the network may be failing; run the same command again") from error
    log(f"{message}; trying again in {pause_s:g} s")
    time.sleep(pause_s)
