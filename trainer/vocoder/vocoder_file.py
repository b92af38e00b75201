"""Vocoder files: a generator's weights, its settings, and the mels that it was trained on, as one safetensors file.

The weights have the names and the layout of the authors' PyTorch modules without weight norm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
import pydantic

from shared.errors import UserError
from shared.features import FeatureSpec
from shared.mel_config import check_features
from shared.messages import first_few
from trainer.config.vocoder_config import BigVganConfig, GeneratorConfig, HiFiGanConfig, VocosConfig
from trainer.platform.safetensors_file import read_tensors, write_tensors
from trainer.vocoder.bigvgan import BigVgan
from trainer.vocoder.hifi_gan import HiFiGan
from trainer.vocoder.vocos import Vocos

FORMAT = "myxtts-vocoder-1"
MAX_FILE_BYTES = 2 << 30  # BigVGAN v2 has 112 million weights
MAX_NAMED = 3  # weights in a message

Generator = HiFiGan | Vocos


class VocoderInfo(pydantic.BaseModel):
    """What a vocoder file says about its weights."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    format: str = FORMAT
    generator: pydantic.Json[GeneratorConfig]
    features: pydantic.Json[FeatureSpec]
    source: str  # the file that it was made from, or the run
    source_sha256: str
    licence: str  # what the user was told about it

    @pydantic.model_validator(mode="after")
    def _check(self) -> VocoderInfo:
        check_features(self.features)  # the file may come from anyone
        check_frames(self.generator, spec=self.features)
        return self

    @classmethod
    def make(cls, generator: GeneratorConfig, *, features: FeatureSpec, **facts: str) -> VocoderInfo:
        spec = pydantic.TypeAdapter(FeatureSpec).dump_json(features).decode()
        return cls.model_validate({"generator": generator.model_dump_json(), "features": spec, **facts})

    def metadata(self) -> dict[str, str]:
        facts = self.model_dump(mode="json", round_trip=True)
        return {name: str(value) for name, value in facts.items()}


def check_frames(generator: HiFiGanConfig | VocosConfig, *, spec: FeatureSpec) -> None:
    """Raises ValueError if the frames of a generator are not those of the mels."""
    same = (spec.n_fft - spec.hop_samples) // 2  # HiFi-GAN and BigVGAN make a hop of samples for each frame
    padding = generator.pad_samples if isinstance(generator, VocosConfig) else same
    for name, own in (("hop_samples", generator.hop_samples), ("pad_samples", padding)):
        if own != (its := getattr(spec, name)):
            raise ValueError(f"generator: {name} is {own}, the mels have {its}")


def feature_differences(first: FeatureSpec, second: FeatureSpec) -> list[str]:
    """The fields other than the name in which two feature specs differ, with both values."""
    pairs = {key: (one, getattr(second, key)) for key, one in dataclasses.asdict(first).items() if key != "name"}
    return [f"{key} is {one}, expected {other}" for key, (one, other) in pairs.items() if one != other]


def refuse_other_mels(found: FeatureSpec, *, expected: FeatureSpec, source: str) -> None:
    """Raise UserError if two feature specs differ; `source` says what has the first one: `FILE: a vocoder for mels`."""
    if differences := feature_differences(found, expected):
        raise UserError(f"{source} of {found.name}, not {expected.name}: {'; '.join(differences)}")


def make_generator(config: GeneratorConfig, *, n_mels: int) -> Generator:
    """A generator with new weights."""
    if isinstance(config, VocosConfig):
        return Vocos(config, n_mels=n_mels)
    if isinstance(config, BigVganConfig):
        return BigVgan(config, n_mels=n_mels)
    assert isinstance(config, HiFiGanConfig)
    return HiFiGan(config, n_mels=n_mels)


def get_weights(generator: Generator) -> dict[str, np.ndarray]:
    """The weights by name, in PyTorch's layout."""
    return {name: np.ascontiguousarray(variable.numpy().T) for name, variable in _variables(generator).items()}


def set_weights(generator: Generator, weights: Mapping[str, np.ndarray], *, source: str) -> None:
    """Set all weights from arrays by name, in PyTorch's layout.

    Raises:
        UserError: a weight is missing, has another shape or a value that is not finite, or is not the generator's.
    """
    variables = _variables(generator)
    for problem, names in (
        ("missing", variables.keys() - weights.keys()),
        ("not of this generator", weights.keys() - variables.keys()),
        ("of other shapes", {name for name in variables if name in weights and not _fits(name, variables, weights)}),
        ("not finite", {name for name, value in weights.items() if not np.isfinite(value).all()}),
    ):
        if names:
            raise UserError(
                f"{source}: weights {problem}: {first_few(sorted(names), most=MAX_NAMED)}; "
                "expected those of the generator that its config describes"
            )
    for name, variable in variables.items():
        variable.assign(weights[name].astype(np.float32).T)


def write_vocoder(path: Path, generator: Generator, *, info: VocoderInfo) -> None:
    """Write a vocoder file.

    Raises:
        UserError: the file cannot be written.
    """
    write_tensors(path, get_weights(generator), metadata=info.metadata())


def read_vocoder(path: Path) -> tuple[Generator, VocoderInfo]:
    """Load a vocoder file.

    Raises:
        UserError: the file cannot be read, or is no vocoder.
    """
    advice = f"expected the format {FORMAT}"
    info, weights = read_tensors(path, metadata=VocoderInfo, max_bytes=MAX_FILE_BYTES, what="vocoder", advice=advice)
    if info.format != FORMAT:
        raise UserError(f"{path}: format {info.format}; {advice}")
    generator = make_generator(info.generator, n_mels=info.features.n_mels)
    set_weights(generator, weights, source=str(path))
    return generator, info


def _fits(name: str, variables: Mapping[str, keras.Variable], weights: Mapping[str, np.ndarray]) -> bool:
    return tuple(variables[name].shape) == weights[name].shape[::-1]


def _variables(generator: Generator) -> dict[str, keras.Variable]:
    """The variables by the names that the authors' modules give them: `<layer>.<weight>`."""
    return {".".join(variable.path.split("/")[-2:]): variable for variable in generator.weights}
