"""A voice as a vector, by the speaker encoder of Resemblyzer.

Source: Wan, Wang, Papir, Lopez Moreno, "Generalized End-to-End Loss for Speaker Verification" (ICASSP 2018). The
weights come with the package Resemblyzer 0.1 (Apache-2.0). The package need not be imported, nor what it imports: only
its file of weights is read, without PyTorch. It is installed by `pip install --no-deps resemblyzer`.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import scipy.special

from preprocess.mel import power_mel
from preprocess.pytorch_weights import read_weights
from shared.errors import UserError
from shared.features import FeatureSpec

RATE_HZ = 16_000
DIMENSIONS = 256

# The power that the network hears: without a logarithm, and padded with zeros.
_MEL = FeatureSpec(
    name="resemblyzer",
    sample_rate_hz=RATE_HZ,
    n_fft=400,
    hop_samples=160,
    pad_samples=200,
    n_mels=40,
    fmin_hz=0.0,
    fmax_hz=8000.0,
    mel_scale="slaney",
    mel_norm="slaney",
    power_epsilon=0.0,
    floor=1e-10,
)
WINDOW_FRAMES = 160  # of what the network hears at once
STEP_FRAMES = 77  # from one window to the next
MIN_COVERED = 0.75  # of the last window, by the recording; what covers less is not heard
LAYERS = 3
MIN_LEVEL_DB = -30.0  # below full scale; a softer recording is amplified, as the authors' program does
MAX_GAIN_DB = 60.0
_GATES = 4 * DIMENSIONS
_SHAPES = {
    **{f"lstm.weight_ih_l{layer}": (_GATES, DIMENSIONS if layer else _MEL.n_mels) for layer in range(LAYERS)},
    **{f"lstm.weight_hh_l{layer}": (_GATES, DIMENSIONS) for layer in range(LAYERS)},
    **{f"lstm.bias_{one}_l{layer}": (_GATES,) for one in ("ih", "hh") for layer in range(LAYERS)},
    "linear.weight": (DIMENSIONS, DIMENSIONS),
    "linear.bias": (DIMENSIONS,),
}
INSTALL = "pip install --no-deps 'resemblyzer>=0.1.4,<0.2'"


class SpeakerEncoder:
    """The network of Resemblyzer, whose weights must be installed."""

    def __init__(self) -> None:
        """Read the weights.

        Raises:
            UserError: they are not installed, or the file is damaged.
        """
        check_speaker_encoder()
        weights = read_weights(_path(), key="model_state")
        if {name: one.shape for name, one in weights.items() if name in _SHAPES} != _SHAPES:
            raise UserError(f"{_path()}: not the weights of Resemblyzer 0.1; {INSTALL}")
        self._layers = [_Layer(weights, number=number) for number in range(LAYERS)]
        self._linear, self._bias = weights["linear.weight"], weights["linear.bias"]

    def __call__(self, samples: np.ndarray) -> np.ndarray:
        """The voice of a recording: a vector [256] float32 of length 1, without negative values.

        Args:
            samples: [S] float32 at RATE_HZ, full scale ±1; at least one.

        Returns:
            NaN if the network hears no voice at all.
        """
        heard = np.stack(_windows(_audible(samples)))  # [N, F, M]
        for layer in self._layers:
            heard = layer(heard)
        found = _unit(np.maximum(heard[:, -1] @ self._linear.T + self._bias, 0))
        return _unit(found.mean(axis=0))


class _Layer:
    """A layer of long short-term memory (Hochreiter and Schmidhuber, 1997), with PyTorch's order of the gates."""

    def __init__(self, weights: dict[str, np.ndarray], *, number: int):
        self._of_input, self._of_state = (weights[f"lstm.weight_{one}_l{number}"].T for one in ("ih", "hh"))
        self._bias = weights[f"lstm.bias_ih_l{number}"] + weights[f"lstm.bias_hh_l{number}"]

    def __call__(self, heard: np.ndarray) -> np.ndarray:
        """The states after each frame, [N, F, D]; `heard` is [N, F, D of the layer below]."""
        gates = heard @ self._of_input + self._bias
        state = memory = np.zeros((len(heard), self._of_state.shape[0]), np.float32)
        states = np.empty((*heard.shape[:2], self._of_state.shape[0]), np.float32)
        for frame in range(heard.shape[1]):
            enter, keep, new, leave = np.split(gates[:, frame] + state @ self._of_state, 4, axis=1)
            sigmoid = scipy.special.expit
            memory = sigmoid(keep) * memory + sigmoid(enter) * np.tanh(new)
            state = states[:, frame] = sigmoid(leave) * np.tanh(memory)
        return states


def check_speaker_encoder() -> None:
    """Raise UserError unless the weights are installed."""
    if not has_speaker_encoder():
        raise UserError(f"no weights of a speaker encoder; expected those of Resemblyzer: {INSTALL}")


def has_speaker_encoder() -> bool:
    """Whether the weights are installed."""
    return _path().is_file()


def _path() -> Path:
    spec = importlib.util.find_spec("resemblyzer")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0] if places else "/nonexistent") / "pretrained.pt"


def _audible(samples: np.ndarray) -> np.ndarray:
    """The signal at MIN_LEVEL_DB, if it is softer; near silence stays softer."""
    power = float(np.mean(samples.astype(np.float64) ** 2))
    missing_db = MIN_LEVEL_DB - 10 * math.log10(power) if power else 0.0
    return samples * np.float32(10 ** (min(max(0.0, missing_db), MAX_GAIN_DB) / 20))


def _windows(samples: np.ndarray) -> list[np.ndarray]:
    """The windows that the authors' program hears, each [WINDOW_FRAMES, M] float32; silence fills the last one."""
    hop = _MEL.hop_samples
    count = math.ceil((len(samples) + 1) / hop)
    starts = list(range(0, max(1, count - WINDOW_FRAMES + STEP_FRAMES + 1), STEP_FRAMES))
    covered = (len(samples) - starts[-1] * hop) / (WINDOW_FRAMES * hop)
    if covered < MIN_COVERED and len(starts) > 1:
        starts.pop()
    missing = (starts[-1] + WINDOW_FRAMES) * hop - len(samples)
    mel = power_mel(np.pad(samples, (0, max(0, missing))), spec=_MEL)
    return [mel[start : start + WINDOW_FRAMES] for start in starts]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)
