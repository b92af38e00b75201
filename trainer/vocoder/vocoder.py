"""Vocoders: from mels to samples, whole or while the mel grows.

    vocoder = Vocoder.load(Path("vocos.safetensors"))
    samples = vocoder(mel)

An output depends on a few frames before and after its own. So a stream lags behind its mel by these frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from shared.features import FeatureSpec
from trainer.vocoder.vocoder_file import Generator, read_vocoder, refuse_other_mels

MAX_FRAMES = 1024  # at once; a minute at once would take gigabytes


class Vocoder:
    """A generator with the mels that it was trained on."""

    def __init__(self, generator: Generator, *, spec: FeatureSpec, path: Path = Path()):
        """`path` is the file that the generator was loaded from."""
        self._generator, self.spec, self.path = generator, spec, path
        mel = tf.TensorSpec([1, None, spec.n_mels], tf.float32)
        self._run = tf.function(generator.call, input_signature=[mel], autograph=False)  # one program for all lengths

    @classmethod
    def load(cls, path: Path, *, spec: FeatureSpec | None = None) -> Vocoder:
        """Load a vocoder file.

        Args:
            spec: the kind of the mels that the vocoder will be given; None: not checked.

        Raises:
            UserError: the file cannot be read, is no vocoder, or is one for other mels.
        """
        generator, info = read_vocoder(path)
        if spec:
            refuse_other_mels(info.features, expected=spec, source=f"{path}: a vocoder for mels")
        return cls(generator, spec=info.features, path=path)

    def __call__(self, log_mel: np.ndarray) -> np.ndarray:
        """Samples [S] float32 in [-1, 1] of a mel [F, M] in ln magnitude; as many as Griffin-Lim gives."""
        if len(log_mel) <= MAX_FRAMES:
            return self._vocode(log_mel)
        parts = (log_mel[start : start + MAX_FRAMES] for start in range(0, len(log_mel), MAX_FRAMES))
        return np.concatenate(list(self.stream(parts)))

    def _vocode(self, log_mel: np.ndarray) -> np.ndarray:
        if not len(log_mel):
            return np.zeros(0, np.float32)
        return self._run(tf.constant(log_mel[np.newaxis], tf.float32))[0].numpy()

    def stream(self, mels: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Samples [S] of a mel that comes in parts [F, M]; after each part, those that later parts cannot change."""
        context, hop = self._generator.context_frames, self.spec.hop_samples
        pending = np.zeros([0, self.spec.n_mels], np.float32)
        skipped = 0  # frames at the begin of `pending` whose samples are out
        for mel in mels:
            pending = np.concatenate([pending, mel])
            ready = len(pending) - context
            if ready > skipped:
                yield self._vocode(pending)[skipped * hop : ready * hop]
                dropped = max(0, ready - context)
                pending, skipped = pending[dropped:], ready - dropped
        yield self._vocode(pending)[skipped * hop :]
