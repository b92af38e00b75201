"""Official checkpoints of HiFi-GAN, BigVGAN and Vocos: their config files and PyTorch weights.

PyTorch is needed for reading the weights only. They are read without running code that the file may hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import yaml

from shared.errors import UserError
from shared.features import PRESETS, FeatureSpec
from trainer.config.vocoder_config import BigVganConfig, GeneratorConfig, HiFiGanConfig, VocosConfig
from trainer.vocoder.snake import low_pass_filter

MAX_CONFIG_BYTES = 1 << 20
CONFIG_NAMES = ("config.json", "config.yaml")
FILTERS = (".upsample.filter", ".downsample.lowpass.filter")  # BigVGAN's, always the same
NOT_OF_GENERATOR = ("feature_extractor.", "head.istft.window")  # of Vocos: its mel and its window
WEIGHT_NORMS = (
    (".weight_g", ".weight_v"),
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
)

Weights = dict[str, np.ndarray]


def find_config(checkpoint: Path) -> Path:
    """The config file beside a checkpoint.

    Raises:
        UserError: there is none.
    """
    for name in CONFIG_NAMES:
        if (path := checkpoint.with_name(name)).is_file():
            return path
    raise UserError(f"{checkpoint}: no {' or '.join(CONFIG_NAMES)} beside it; give the config with --config")


def read_config(path: Path) -> tuple[GeneratorConfig, FeatureSpec]:
    """The generator that an official config describes, and the preset whose mels it was trained on.

    Raises:
        UserError: the file cannot be read, is no config of these vocoders, or is of other mels than a preset's.
    """
    document = _document(path)
    try:
        if "backbone" in document:
            return _vocos(document)
        return _upsampling(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: no config of HiFi-GAN, BigVGAN or Vocos ({error!r})") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise UserError(f"{path}: more than {MAX_CONFIG_BYTES:,} bytes; not a config")
        text = path.read_text(encoding="utf-8")
        document = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path}: not a config ({str(error).splitlines()[0]})") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: not a config of HiFi-GAN, BigVGAN or Vocos")
    return document


def _upsampling(document: dict[str, Any]) -> tuple[GeneratorConfig, FeatureSpec]:
    """HiFi-GAN's or BigVGAN's; only the latter names its activation."""
    kind: type[HiFiGanConfig] = BigVganConfig if "activation" in document else HiFiGanConfig
    fields = {name: document[name] for name in kind.model_fields if name in document and name != "kind"}
    for name in ("upsample_rates", "upsample_kernel_sizes", "upsample_initial_channel"):
        fields[name] = document[name]
    fmax_hz = document["fmax"]
    spec = _preset(
        sample_rate_hz=document["sampling_rate"],
        n_fft=document["n_fft"],
        hop_samples=document["hop_size"],
        pad_samples=(document["n_fft"] - document["hop_size"]) // 2,
        n_mels=document["num_mels"],
        fmin_hz=float(document["fmin"]),
        fmax_hz=float(document["sampling_rate"] / 2 if fmax_hz is None else fmax_hz),
        mel_scale="slaney",
    )
    return kind.model_validate(fields), spec


def _vocos(document: dict[str, Any]) -> tuple[GeneratorConfig, FeatureSpec]:
    features, backbone, head = (document[name]["init_args"] for name in ("feature_extractor", "backbone", "head"))
    config = VocosConfig(
        dim=backbone["dim"],
        intermediate_dim=backbone["intermediate_dim"],
        num_layers=backbone["num_layers"],
        n_fft=head["n_fft"],
        hop_length=head["hop_length"],
        padding=head.get("padding", "same"),
    )
    spec = _preset(
        sample_rate_hz=features["sample_rate"],
        n_fft=features["n_fft"],
        hop_samples=features["hop_length"],
        pad_samples=features["n_fft"] // 2 if features.get("padding", "center") == "center" else config.pad_samples,
        n_mels=features["n_mels"],
        fmin_hz=0.0,
        fmax_hz=features["sample_rate"] / 2,
        mel_scale="htk",
    )
    return config, spec


def _preset(**facts: Any) -> FeatureSpec:
    """The preset with these values.

    Raises:
        UserError: there is none.
    """
    for spec in PRESETS.values():
        if all(getattr(spec, name) == value for name, value in facts.items()):
            return spec
    shown = ", ".join(f"{name} {value}" for name, value in facts.items())
    raise UserError(f"mels of {shown}; expected those of a preset: {', '.join(PRESETS)}")


def read_weights(path: Path) -> Weights:
    """The arrays of a PyTorch file by name; those of the generator where a file holds several networks.

    Raises:
        UserError: PyTorch is not installed, or the file cannot be read or holds no weights.
    """
    try:
        import torch
    except ImportError as error:
        raise UserError("reading PyTorch's files needs PyTorch: `pip install torch` into this environment") from error
    import pickle

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise UserError(f"{path}: no weights of PyTorch ({str(error).splitlines()[0]})") from error
    loaded = loaded.get("generator", loaded) if isinstance(loaded, dict) else loaded
    if not isinstance(loaded, dict) or not all(isinstance(one, torch.Tensor) for one in loaded.values()):
        raise UserError(f"{path}: no weights of a generator; expected tensors by name, or `generator` with them")
    return {str(name): value.float().numpy() for name, value in loaded.items()}


def generator_weights(weights: Mapping[str, np.ndarray], *, source: str) -> Weights:
    """The weights of a generator alone, with weight norm folded.

    Raises:
        UserError: a resampling filter is another one than BigVGAN's.
    """
    for name, value in weights.items():
        if name.endswith(FILTERS) and not np.allclose(value.reshape(-1), low_pass_filter(), atol=1e-6):
            raise UserError(f"{source}: {name} is another filter than BigVGAN's, which is the only one known here")
    own = {
        name: value
        for name, value in weights.items()
        if not name.endswith(FILTERS) and not name.startswith(NOT_OF_GENERATOR)
    }
    return _without_weight_norm(own)


def _without_weight_norm(weights: Weights) -> Weights:
    """weight = g v / |v|, the norm over all axes but the first (Salimans & Kingma, 2016, arXiv:1602.07868)."""
    folded = dict(weights)
    for gain, direction in WEIGHT_NORMS:
        for name in [name for name in weights if name.endswith(gain)]:
            stem = name.removesuffix(gain)
            if stem + direction in weights:
                g, v = folded.pop(name), folded.pop(stem + direction)
                norms = np.sqrt(np.square(v).sum(axis=tuple(range(1, v.ndim)), keepdims=True))
                folded[f"{stem}.weight"] = g * v / norms
    return folded
