"""Vocoders: streamed as whole, few and many frames, files that are no vocoder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import keras
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from shared.errors import UserError
from shared.features import PRESETS
from trainer.config.vocoder_config import BigVganConfig, HiFiGanConfig, VocosConfig
from trainer.vocoder.vocoder import Vocoder
from trainer.vocoder.vocoder_file import VocoderInfo, get_weights, make_generator, read_vocoder, write_vocoder

SMALL = {"upsample_initial_channel": 16, "resblock_kernel_sizes": (3,), "resblock_dilation_sizes": ((1, 3),)}
CONFIGS = {
    "hifi-gan": HiFiGanConfig(**SMALL),
    "bigvgan": BigVganConfig(**SMALL),
    "vocos center": VocosConfig(dim=16, intermediate_dim=24, num_layers=2),
    "vocos same": VocosConfig(dim=16, intermediate_dim=24, num_layers=2, padding="same"),
}
SPECS = {name: PRESETS["vocos-24k" if name == "vocos center" else "bigvgan-24k-100"] for name in CONFIGS}
FACTS = {"source": "a test", "source_sha256": "0" * 64, "licence": "none"}


def vocoder(name: str) -> Vocoder:
    keras.utils.set_random_seed(3)
    generator = make_generator(CONFIGS[name], n_mels=100)
    random = np.random.default_rng(3)
    for variable in generator.weights:
        variable.assign_add(random.normal(0.0, 0.1, variable.shape).astype(np.float32))
    return Vocoder(generator, spec=SPECS[name])


def features_json(**changes: float) -> str:
    return json.dumps({**dataclasses.asdict(SPECS["vocos same"]), **changes})


def mel(frames: int) -> np.ndarray:
    return np.random.default_rng(5).normal(-4.0, 2.0, (frames, 100)).astype(np.float32)


def written(path: Path, name: str = "vocos same") -> Path:
    generator = vocoder(name)._generator
    write_vocoder(path, generator, info=VocoderInfo.make(CONFIGS[name], features=SPECS[name], **FACTS))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes"),
    [(name, sizes) for name in CONFIGS for sizes in ([64, 64, 22], [0, 3, 0, 140, 7])] + [("vocos same", [1] * 150)],
)
def test_streamed_samples_are_those_of_the_whole(name: str, sizes: list[int]) -> None:
    whole, speaking = mel(150), vocoder(name)
    wanted = speaking(whole)
    parts = np.split(whole, np.cumsum(sizes)[:-1])
    pieces = list(speaking.stream(iter(parts)))
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(np.concatenate(pieces), wanted, atol=1e-6)
    if sizes[0] == 64:
        assert len(pieces) == 4, "nothing came before the end"


@pytest.mark.parametrize("name", CONFIGS)
def test_the_program_for_all_lengths_gives_the_samples_of_the_generator(name: str) -> None:
    """The goldens are those of the generator; a program for all lengths may compute its layers otherwise."""
    speaking, given = vocoder(name), mel(40)
    wanted = speaking._generator.call(tf.constant(given[np.newaxis]))[0].numpy()
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(speaking(given), wanted, atol=1e-6)


@pytest.mark.slow
def test_a_long_mel_is_vocoded_in_parts_with_the_samples_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    tested, long_mel, lengths = vocoder("vocos same"), mel(150), []
    at_once, vocode_part = tested(long_mel), tested._run

    def vocode_counted(part: tf.Tensor) -> tf.Tensor:
        lengths.append(part.shape[1])
        return vocode_part(part)

    monkeypatch.setattr("trainer.vocoder.vocoder.MAX_FRAMES", 40)
    monkeypatch.setattr(tested, "_run", vocode_counted)
    np.testing.assert_allclose(tested(long_mel), at_once, atol=1e-6)
    assert len(lengths) > 3
    assert max(lengths) < 150


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("frames", [0, 1, *(pytest.param(one, marks=pytest.mark.soak) for one in (2, 40))])
def test_few_frames_have_as_many_samples_as_their_mel_says(name: str, frames: int) -> None:
    speaking = vocoder(name)
    samples = speaking(mel(frames))
    hop = speaking.spec.hop_samples
    assert len(samples) == max(0, frames - (name == "vocos center")) * hop
    assert samples.dtype == np.float32
    assert np.isfinite(samples).all()
    np.testing.assert_allclose(np.concatenate(list(speaking.stream([mel(frames)]))), samples, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_a_vocoder_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "vocoder.safetensors", name)
    speaking = Vocoder.load(path)
    assert speaking.spec == SPECS[name]
    np.testing.assert_array_equal(speaking(mel(20)), vocoder(name)(mel(20)))
    _, info = read_vocoder(path)
    assert (info.source, info.licence) == ("a test", "none")


def test_mels_of_another_spec_are_refused_by_field(tmp_path: Path) -> None:
    path = written(tmp_path / "vocoder.safetensors")
    assert Vocoder.load(path, spec=PRESETS["bigvgan-24k-100"]).spec == SPECS["vocos same"]
    words = "a vocoder for mels of bigvgan-24k-100, not hifigan-22k: sample_rate_hz is 24000, expected 22050; n_mels is"
    with pytest.raises(UserError, match=words):
        Vocoder.load(path, spec=PRESETS["hifigan-22k"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop("head.out.bias"), "weights missing: head.out.bias"),
        (lambda weights: weights.update(extra=np.zeros(1, np.float32)), "weights not of this generator: extra"),
        (lambda weights: weights.update({"head.out.bias": np.zeros(3, np.float32)}), "of other shapes: head.out.bias"),
        (
            lambda weights: weights.update({"backbone.norm.bias": np.full(16, np.nan, np.float32)}),
            "weights not finite: backbone.norm.bias",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path: Path, change: object, message: str) -> None:
    path = tmp_path / "vocoder.safetensors"
    weights = get_weights(vocoder("vocos same")._generator)
    change(weights)
    metadata = VocoderInfo.make(CONFIGS["vocos same"], features=SPECS["vocos same"], **FACTS).metadata()
    safetensors.numpy.save_file(weights, path, metadata)
    with pytest.raises(UserError, match=message):
        read_vocoder(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("format", "myxtts-vocoder-9", "format myxtts-vocoder-9"),
        ("generator", json.dumps({"kind": "wavenet"}), "generator: Input tag 'wavenet'"),
        ("generator", json.dumps({"kind": "vocos", "dim": 10**9}), "generator.vocos.dim: Input should be less than"),
        (
            "generator",
            json.dumps({"kind": "vocos", "dim": 8192, "intermediate_dim": 8192, "num_layers": 64}),
            "a generator of 8,589,934,592 weights",
        ),
        ("generator", json.dumps({"kind": "hifi-gan", "upsample_initial_channel": 8192}), "weights, expected at most"),
        ("generator", json.dumps({"kind": "hifi-gan", "upsample_rates": [4096, 4096]}), "upsample"),
        ("generator", json.dumps({"kind": "vocos"}), "generator: pad_samples is 512, the mels have 384"),
        (
            "generator",
            json.dumps({"kind": "hifi-gan", "resblock_dilation_sizes": [[10**30]] * 3}),
            "less than or equal to 1024",
        ),
        ("features", "{}", "features.name: Field required"),
        ("features", "not JSON", "features: Invalid JSON"),
        ("features", features_json(n_fft=1 << 40), "n_fft: Input should be less than or equal to 8192"),
        ("features", features_json(fmax_hz=1e300), "fmax_hz: Input should be less than"),
    ],
)
def test_a_file_that_is_no_vocoder_is_refused_in_a_line(tmp_path: Path, key: str, value: str, words: str) -> None:
    path = tmp_path / "vocoder.safetensors"
    metadata = VocoderInfo.make(CONFIGS["vocos same"], features=SPECS["vocos same"], **FACTS).metadata()
    safetensors.numpy.save_file({}, path, {**metadata, key: value})
    with pytest.raises(UserError) as caught:
        read_vocoder(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("dtype", "kind"), [(np.int64, "I64"), (np.bool_, "BOOL"), ("F8_E4M3", "F8_E4M3")])
def test_numbers_that_weights_do_not_have_are_refused_in_a_line(tmp_path: Path, dtype: object, kind: str) -> None:
    path = tmp_path / "vocoder.safetensors"
    metadata = VocoderInfo.make(CONFIGS["vocos same"], features=SPECS["vocos same"], **FACTS).metadata()
    if isinstance(dtype, str):
        head = json.dumps({"__metadata__": metadata, "a": {"dtype": dtype, "shape": [8], "data_offsets": [0, 8]}})
        path.write_bytes(len(head).to_bytes(8, "little") + head.encode() + bytes(8))
    else:
        safetensors.numpy.save_file({"a": np.zeros(8, dtype)}, path, metadata)
    with pytest.raises(UserError, match=rf"not a vocoder \(a has numbers of {kind}, expected numbers of F16, F32, F64"):
        read_vocoder(path)


def test_a_file_that_was_cut_off_or_is_absent_is_refused_in_a_line(tmp_path: Path) -> None:
    path = written(tmp_path / "vocoder.safetensors")
    path.write_bytes(path.read_bytes()[:-100])
    for wrong in (path, tmp_path / "none", tmp_path):
        with pytest.raises(UserError) as caught:
            read_vocoder(wrong)
        assert "\n" not in str(caught.value)
