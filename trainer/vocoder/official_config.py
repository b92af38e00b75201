"""Config files of official checkpoints: config.json of HiFi-GAN and BigVGAN, config.yaml of Vocos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import yaml

from shared.errors import UserError
from shared.features import CUSTOM, FeatureSpec, with_known_name
from shared.mel_config import check_features
from trainer.config.vocoder_config import BigVganConfig, GeneratorConfig, HiFiGanConfig, VocosConfig
from trainer.vocoder.vocoder_file import check_frames

MAX_BYTES = 1 << 20
NAMES = ("config.json", "config.yaml")
KINDS = "HiFi-GAN, BigVGAN or Vocos"
UPSAMPLING = ("upsample_rates", "upsample_kernel_sizes", "upsample_initial_channel")


class OfficialConfig(NamedTuple):
    """What a config file describes: a generator, and the kind of the mels it was trained on."""

    generator: GeneratorConfig
    features: FeatureSpec


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)


class _UpsamplingMels(_Section):
    """HiFi-GAN's and BigVGAN's settings of the mel."""

    sampling_rate: int
    n_fft: int
    hop_size: int
    num_mels: int
    fmin: float
    fmax: float | None
    win_size: int | None = None

    @pydantic.model_validator(mode="after")
    def _check_window(self) -> _UpsamplingMels:
        if self.win_size not in (None, self.n_fft):
            raise ValueError(f"win_size {self.win_size}: the windows of mels here are as long as n_fft, {self.n_fft}")
        return self

    def spec(self) -> FeatureSpec:
        return FeatureSpec(
            name=CUSTOM,
            sample_rate_hz=self.sampling_rate,
            n_fft=self.n_fft,
            hop_samples=self.hop_size,
            pad_samples=(self.n_fft - self.hop_size) // 2,
            n_mels=self.num_mels,
            fmin_hz=self.fmin,
            fmax_hz=self.sampling_rate / 2 if self.fmax is None else self.fmax,
            mel_scale="slaney",
            mel_norm="slaney",
            power_epsilon=1e-9,
            floor=1e-5,
        )


class _VocosMels(_Section):
    """Vocos's settings of the mel, with the defaults of its `MelSpectrogramFeatures`."""

    sample_rate: int
    n_fft: int
    hop_length: int
    n_mels: int
    padding: str = "center"

    def spec(self) -> FeatureSpec:
        same = (self.n_fft - self.hop_length) // 2
        return FeatureSpec(
            name=CUSTOM,
            sample_rate_hz=self.sample_rate,
            n_fft=self.n_fft,
            hop_samples=self.hop_length,
            pad_samples=self.n_fft // 2 if self.padding == "center" else same,
            n_mels=self.n_mels,
            fmin_hz=0.0,
            fmax_hz=self.sample_rate / 2,
            mel_scale="htk",
            mel_norm=None,
            power_epsilon=0.0,
            floor=1e-7,
        )


def find_config(checkpoint: Path) -> Path:
    """Return the config file beside a checkpoint.

    Raises:
        UserError: there is none.
    """
    for name in NAMES:
        if (path := checkpoint.with_name(name)).is_file():
            return path
    raise UserError(f"{checkpoint}: no {' or '.join(NAMES)} beside it; give the checkpoint's config with --config")


def read_config(path: Path) -> OfficialConfig:
    """Read a config file.

    Raises:
        UserError: the file cannot be read, is no config of these vocoders, or describes mels that are not made here.
    """
    document = _document(path)
    try:
        return _vocos(document) if "backbone" in document else _upsampling(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a config of {KINDS} ({error!r})") from error
    except pydantic.ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "values"
        raise UserError(f"{path}: {place}: {first['msg']}; expected a config of {KINDS}") from error
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: more than {MAX_BYTES:,} bytes; not a config of {KINDS}")
        text = path.read_text(encoding="utf-8")
        document = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path}: not a config of {KINDS} ({str(error).splitlines()[0]})") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: not a config of {KINDS}; expected names with values")
    return document


def _upsampling(document: dict[str, Any]) -> OfficialConfig:
    """HiFi-GAN's or BigVGAN's; only BigVGAN's names its activation."""
    kind: type[HiFiGanConfig] = BigVganConfig if "activation" in document else HiFiGanConfig
    fields = {name: document[name] for name in kind.model_fields if name in document and name != "kind"}
    fields |= {name: document[name] for name in UPSAMPLING}
    return _official(kind.model_validate(fields), spec=_UpsamplingMels.model_validate(document).spec())


def _vocos(document: dict[str, Any]) -> OfficialConfig:
    features, backbone, head = (document[name]["init_args"] for name in ("feature_extractor", "backbone", "head"))
    generator = VocosConfig(
        dim=backbone["dim"],
        intermediate_dim=backbone["intermediate_dim"],
        num_layers=backbone["num_layers"],
        n_fft=head["n_fft"],
        hop_length=head["hop_length"],
        padding=head.get("padding", "same"),
    )
    return _official(generator, spec=_VocosMels.model_validate(features).spec())


def _official(generator: HiFiGanConfig | VocosConfig, *, spec: FeatureSpec) -> OfficialConfig:
    """A generator with its mels, under the preset's name if they are a preset's.

    Raises:
        UserError: this software makes no mels of this kind, or the generator's frames are not those of its mels.
    """
    spec = with_known_name(spec)
    try:
        check_features(spec)
    except ValueError as error:
        raise UserError(f"it was trained on mels that cannot be made here: {error}") from error
    try:
        check_frames(generator, spec=spec)
    except ValueError as error:
        raise UserError(f"its generator does not fit its mels: {error}") from error
    return OfficialConfig(generator, spec)
