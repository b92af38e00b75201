"""DNSMOS: the mean opinion scores that listeners are predicted to give a recording of speech, from 1 to 5.

Source: Reddy, Gopal, Cutler, "DNSMOS P.835: A Non-Intrusive Perceptual Objective Speech Quality Metric to Evaluate
Noise Suppressors" (ICASSP 2022), and for P.808 their DNSMOS of 2021; the networks are in Microsoft's package speechmos
(MIT), which need not be imported. They hear windows of 9.01 s; a shorter recording is doubled until it fills one.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preprocess.mel import power_mel
from shared.errors import UserError
from shared.features import FeatureSpec

RATE_HZ = 16_000
WINDOW_S = 9.01  # of what the networks hear at once; `_windows` tells where windows begin
WINDOW_SAMPLES = 144_160

# The mel that the network of P.808 hears, and nothing else reads. Its padding is of zeros, and its floor one of power.
_MEL = FeatureSpec(
    name="dnsmos-p808",
    sample_rate_hz=RATE_HZ,
    n_fft=321,
    hop_samples=160,
    pad_samples=160,
    n_mels=120,
    fmin_hz=0.0,
    fmax_hz=8000.0,
    mel_scale="slaney",
    mel_norm="slaney",
    power_epsilon=0.0,
    floor=1e-10,
)
_RANGE_DB = 80.0  # below the loudest value; what is softer is heard as so soft

# what the network of P.835 answers -> the score of listeners: a polynomial, from the square to the constant
_SIG = (-0.08397278, 1.22083953, 0.0052439)
_BAK = (-0.13166888, 1.60915514, -0.39604546)
_OVRL = (-0.06766283, 1.11546468, 0.04602535)


class Opinion(NamedTuple):
    """The predicted scores of one recording."""

    ovrl: float  # of all, by ITU-T P.835
    sig: float  # of the speech
    bak: float  # of the background
    p808: float  # of all, by ITU-T P.808


class DNSMOS:
    """The two networks; speechmos and onnxruntime must be installed. One thread computes."""

    def __init__(self) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._p835, self._p808 = (
            onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]) for path in _weights()
        )

    def __call__(self, samples: np.ndarray) -> Opinion:
        """Predict the scores of a recording.

        Args:
            samples: [S] float32 at RATE_HZ, full scale ±1; at least one.
        """
        answers = np.array([self._hear(window) for window in _windows(samples)])
        means = answers.mean(axis=0)
        return Opinion(*(float(mean) for mean in means))

    def _hear(self, window: np.ndarray) -> Opinion:
        """The scores of one window, [WINDOW_SAMPLES] float32."""
        sig, bak, ovrl = _answer(self._p835, window)
        (p808,) = _answer(self._p808, p808_mel(window[: -_MEL.hop_samples]))
        return Opinion(
            float(np.polyval(_OVRL, ovrl)), float(np.polyval(_SIG, sig)), float(np.polyval(_BAK, bak)), float(p808)
        )


def check_dnsmos() -> None:
    """Raise UserError unless the networks and their runtime are installed."""
    if importlib.util.find_spec("onnxruntime") is None or not all(path.is_file() for path in _weights()):
        raise UserError("DNSMOS needs speechmos and onnxruntime, which are not installed: pip install 'myxtts[dnsmos]'")


def p808_mel(samples: np.ndarray) -> np.ndarray:
    """The mel that the network of P.808 hears, [F, 120] float32: decibels below the loudest value, (dB + 40) / 40.

    Equal to librosa's `melspectrogram` with frames of 321 samples, a hop of 160 and 120 bands, and its `power_to_db`
    relative to the largest value.

    Args:
        samples: [S] float32.
    """
    power = np.maximum(power_mel(samples, spec=_MEL), np.float32(_MEL.floor))
    below_loudest_db = 10 * np.log10(power / power.max())
    return np.asarray((np.maximum(below_loudest_db, -_RANGE_DB) + 40) / 40, np.float32)


def _windows(samples: np.ndarray) -> Iterator[np.ndarray]:
    """The windows of a recording, each [WINDOW_SAMPLES] float32: those that the authors' program hears.

    That program counts whole seconds of the recording, and leaves out windows whose end comes out one sample short in
    its floating-point arithmetic.
    """
    repeats = 1 << max(0, math.ceil(math.log2(WINDOW_SAMPLES / len(samples))))
    whole = np.tile(samples.astype(np.float32, copy=False), repeats)
    for second in range(int(len(whole) // RATE_HZ - WINDOW_S) + 1):
        start, end = second * RATE_HZ, int((second + WINDOW_S) * RATE_HZ)
        if end - start == WINDOW_SAMPLES:
            yield whole[start:end]


def _answer(network: Any, heard: np.ndarray) -> np.ndarray:
    """What a network answers to one input, [N] float32."""
    return np.asarray(network.run(None, {"input_1": heard[np.newaxis]})[0][0])


def _weights() -> list[Path]:
    """The files of the networks of P.835 and P.808 in the package speechmos."""
    spec = importlib.util.find_spec("speechmos")
    places = (spec.submodule_search_locations if spec else None) or ["speechmos"]
    return [Path(places[0]) / "dnsmos_models" / name for name in ("sig_bak_ovr.onnx", "model_v8.onnx")]
