"""The weights of official checkpoints of HiFi-GAN, BigVGAN and Vocos, as the generators here take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shared.errors import UserError
from trainer.vocoder.snake import low_pass_filter

FILTERS = (".upsample.filter", ".downsample.lowpass.filter")  # BigVGAN's, always the same
NOT_OF_GENERATOR = ("feature_extractor.", "head.istft.window")  # of Vocos: its mel and its window
WEIGHT_NORMS = (  # of PyTorch's old and of its new implementation
    (".weight_g", ".weight_v"),
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
)

Weights = dict[str, np.ndarray]


def generator_weights(weights: Mapping[str, np.ndarray], *, source: str) -> Weights:
    """The weights of a generator alone, with weight norm folded.

    Raises:
        UserError: a resampling filter is another one than BigVGAN's, or the gains of a layer do not fit its filters.
    """
    taps = low_pass_filter()
    for name, value in weights.items():
        if name.endswith(FILTERS) and not (value.size == len(taps) and np.allclose(value.reshape(-1), taps, atol=1e-6)):
            raise UserError(f"{source}: {name} is another filter than BigVGAN's, which is the only one known here")
    own = {
        name: value
        for name, value in weights.items()
        if not name.endswith(FILTERS) and not name.startswith(NOT_OF_GENERATOR)
    }
    return _without_weight_norm(own, source=source)


def _without_weight_norm(weights: Weights, *, source: str) -> Weights:
    """weight = g v / |v|, the norm over all axes but the first (Salimans & Kingma, 2016, arXiv:1602.07868)."""
    folded = dict(weights)
    for gain, direction in WEIGHT_NORMS:
        for name in [name for name in weights if name.endswith(gain)]:
            stem = name.removesuffix(gain)
            if stem + direction in weights:
                g, v = folded.pop(name), folded.pop(stem + direction)
                if v.ndim == 0 or g.shape != (len(v), *(1,) * (v.ndim - 1)):  # else the product might fill the memory
                    raise UserError(f"{source}: {name} has the shape {list(g.shape)}, its filters {list(v.shape)}")
                norms = np.sqrt(np.square(v).sum(axis=tuple(range(1, v.ndim)), keepdims=True))
                folded[f"{stem}.weight"] = g * v / norms
    return folded
