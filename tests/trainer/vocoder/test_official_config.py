"""Config files of official checkpoints: those that were released, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.errors import UserError
from shared.mel_config import MelConfig, feature_spec
from tests.bench.vocoders import BIGVGAN_V2_SIZES, V3_SIZES
from trainer.config.vocoder_config import HiFiGanConfig, VocosConfig
from trainer.vocoder.official_config import find_config, read_config

MELS_22K = {"num_mels": 80, "n_fft": 1024, "hop_size": 256, "sampling_rate": 22050, "fmin": 0, "fmax": 8000}
MELS_24K = {"num_mels": 100, "n_fft": 1024, "hop_size": 256, "sampling_rate": 24000, "fmin": 0, "fmax": None}
DILATIONS = [[1, 3, 5]] * 3
HIFI_GAN_V1 = {
    "resblock": "1",
    "upsample_rates": [8, 8, 2, 2],
    "upsample_kernel_sizes": [16, 16, 4, 4],
    "upsample_initial_channel": 512,
    "resblock_kernel_sizes": [3, 7, 11],
    "resblock_dilation_sizes": DILATIONS,
    "learning_rate": 0.0002,
    **MELS_22K,
}
HIFI_GAN_V3 = HIFI_GAN_V1 | {
    "resblock": "2",
    "upsample_rates": [8, 8, 4],
    "upsample_kernel_sizes": [16, 16, 8],
    "upsample_initial_channel": 256,
    "resblock_kernel_sizes": [3, 5, 7],
    "resblock_dilation_sizes": [[1, 2], [2, 6], [3, 12]],
}
BIGVGAN_V2 = HIFI_GAN_V1 | {
    "upsample_rates": [4, 4, 2, 2, 2, 2],
    "upsample_kernel_sizes": [8, 8, 4, 4, 4, 4],
    "upsample_initial_channel": 1536,
    "use_tanh_at_final": False,
    "use_bias_at_final": False,
    "activation": "snakebeta",
    "snake_logscale": True,
    **MELS_24K,
}
VOCOS = {
    "feature_extractor": {
        "class_path": "vocos.feature_extractors.MelSpectrogramFeatures",
        "init_args": {"sample_rate": 24000, "n_fft": 1024, "hop_length": 256, "n_mels": 100, "padding": "center"},
    },
    "backbone": {
        "class_path": "vocos.models.VocosBackbone",
        "init_args": {"input_channels": 100, "dim": 512, "intermediate_dim": 1536, "num_layers": 8},
    },
    "head": {
        "class_path": "vocos.heads.ISTFTHead",
        "init_args": {"dim": 512, "n_fft": 1024, "hop_length": 256, "padding": "center"},
    },
}


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document) if path.suffix == ".json" else yaml.safe_dump(document), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "document", "kind", "features"),
    [
        ("config.json", HIFI_GAN_V1, HiFiGanConfig(), "hifigan-22k"),
        ("config.json", HIFI_GAN_V3, V3_SIZES, "hifigan-22k"),
        ("config.json", BIGVGAN_V2, BIGVGAN_V2_SIZES, "bigvgan-24k-100"),
        ("config.yaml", VOCOS, VocosConfig(), "vocos-24k"),
    ],
)
def test_released_configs_describe_their_generator_and_a_preset_of_mels(
    tmp_path: Path, name: str, document: dict, kind: object, features: str
) -> None:
    written(tmp_path / name, document)
    config = read_config(find_config(tmp_path / "generator.pt"))
    assert config.generator == kind
    assert config.features.name == features


def test_the_mels_of_a_config_that_are_no_presets_are_kept(tmp_path: Path) -> None:
    """Those of BigVGAN v2 at 44 kHz, with 128 bands."""
    wide = {"sampling_rate": 44100, "n_fft": 2048, "hop_size": 512, "num_mels": 128, "fmin": 0, "fmax": None}
    rates = {"upsample_rates": [8, 4, 2, 2, 2, 2], "upsample_kernel_sizes": [16, 8, 4, 4, 4, 4]}
    written(tmp_path / "config.json", BIGVGAN_V2 | wide | rates)
    spec = read_config(tmp_path / "config.json").features
    mel = MelConfig(sample_rate_hz=44100, n_fft=2048, hop_samples=512, n_mels=128, fmax_hz=22050)
    assert spec == feature_spec("hifigan-22k", mel=mel)
    assert spec.name == "custom"


def test_a_checkpoint_without_a_config_beside_it_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"generator.pt: no config.json or config.yaml beside it; give .* with --config"
    ):
        find_config(tmp_path / "generator.pt")


LAUGHS = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]\n" for one, two in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.json", "[]", "not a config of HiFi-GAN, BigVGAN or Vocos; expected names with values"),
        ("config.json", "{", "not a config of HiFi-GAN, BigVGAN or Vocos (Expecting"),
        ("config.json", "[" * 100_000, "not a config of"),
        ("config.json", "{}", "not a config of HiFi-GAN, BigVGAN or Vocos (KeyError('upsample_rates'))"),
        ("config.json", json.dumps(HIFI_GAN_V1 | {"n_fft": [1]}), "n_fft: Input should be a valid integer"),
        ("config.json", json.dumps(HIFI_GAN_V1 | {"upsample_rates": [8]}), "differ in length"),
        (
            "config.json",
            json.dumps(HIFI_GAN_V1 | {"fmax": 12000}),
            "cannot be made here: mel.fmin_hz 0, mel.fmax_hz 12",
        ),
        ("config.json", json.dumps(BIGVGAN_V2 | {"n_fft": 1 << 40}), "cannot be made here: n_fft: Input should be "),
        ("config.json", json.dumps(BIGVGAN_V2 | {"hop_size": 0}), "cannot be made here: hop_samples: Input should be"),
        ("config.json", json.dumps(HIFI_GAN_V1 | {"hop_size": 200}), "hop_samples is 256, the mels have 200"),
        ("config.json", json.dumps(HIFI_GAN_V1 | {"win_size": 800}), "win_size 800: the windows of mels here are as"),
        ("config.yaml", yaml.safe_dump(VOCOS | {"head": {"init_args": {}}}), "(KeyError('n_fft'))"),
        ("config.yaml", yaml.safe_dump(VOCOS | {"head": None}), "not a config of"),
        ("config.yaml", "!!python/object/apply:os.system ['touch harmed']", "not a config of"),
        ("config.yaml", f"{LAUGHS}backbone: *i\nhead: *i\nfeature_extractor: *i\n", "not a config of"),
        ("config.yaml", f"{LAUGHS}{''.join(f'{key}: *i{chr(10)}' for key in HIFI_GAN_V1)}", "Input should be"),
        ("config.yaml", "#" * (1 << 20) + "\n", "more than 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_such_config_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert not (tmp_path / "harmed").exists()


def test_a_config_that_is_absent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none.json: cannot be read \(No such file"):
        read_config(tmp_path / "none.json")
