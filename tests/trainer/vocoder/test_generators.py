"""Generators against the outputs of the authors' code (`../shared/golden`, whose README has the commits)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from trainer.config.vocoder_config import BigVganConfig, HiFiGanConfig, VocosConfig
from trainer.vocoder.official_weights import generator_weights
from trainer.vocoder.snake import AntiAliasedSnake, downsample, low_pass_filter, upsample
from trainer.vocoder.vocoder_file import Generator, get_weights, make_generator, set_weights
from trainer.vocoder.vocos import overlap_add

FOLDED, NORMED = "state_dict", "state_dict_weight_norm"
KINDS = {
    "hifigan_generator/resblock1_v1style": (HiFiGanConfig, (FOLDED, NORMED)),
    "hifigan_generator/resblock2_v3style": (HiFiGanConfig, (FOLDED, NORMED)),
    "bigvgan_generator/v2_clamp_nobias": (BigVganConfig, (FOLDED, NORMED)),
    "bigvgan_generator/v1_base_tanh_bias": (BigVganConfig, (NORMED,)),
    "bigvgan_generator/snake_linear_resblock2": (BigVganConfig, (NORMED,)),
    "vocos_generator/center": (VocosConfig, (FOLDED,)),
    "vocos_generator/same": (VocosConfig, (FOLDED,)),
}
CASES = [*KINDS]
ATOL = 1e-5


def golden(reference: Path, name: str) -> dict[str, np.ndarray]:
    return dict(np.load(reference / "golden" / f"{name}.npz"))


def official(reference: Path, case: str, *, weights: str | None = None) -> Generator:
    """The generator of a case with the authors' weights, by default those of its first file."""
    facts = json.loads(str(golden(reference, f"{case}_io")["config_json"]))
    kind, files = KINDS[case]
    config = kind.model_validate({name: fact for name, fact in facts.items() if name in kind.model_fields})
    generator = make_generator(config, n_mels=n_mels(case))
    arrays = golden(reference, f"{case}_{weights or files[0]}")
    set_weights(generator, generator_weights(arrays, source=case), source=case)
    return generator


def n_mels(case: str) -> int:
    return 80 if case.startswith("hifigan") else 100


def mels(array: np.ndarray) -> tf.Tensor:
    """[B, F, M] of PyTorch's [B, M, F]."""
    return tf.constant(array.transpose(0, 2, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("case", "weights"), [(case, file) for case, (_, files) in KINDS.items() for file in files])
def test_samples_are_those_of_the_authors_code(reference: Path, case: str, weights: str) -> None:
    generator, arrays = official(reference, case, weights=weights), golden(reference, f"{case}_io")
    for name in ("", "_random"):
        wanted = arrays[f"output{name}"].reshape(len(arrays[f"input{name}"]), -1)
        found = generator.call(mels(arrays[f"input{name}"])).numpy()
        np.testing.assert_allclose(found, wanted, atol=ATOL, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["hifigan_generator/resblock2_v3style", "vocos_generator/same"])
def test_compiled_generators_give_the_same_samples(reference: Path, case: str) -> None:
    generator, arrays = official(reference, case), golden(reference, f"{case}_io")
    for is_compiled in (False, True):
        run = tf.function(generator.call, jit_compile=is_compiled, autograph=False)
        found = run(mels(arrays["input_random"])).numpy()
        np.testing.assert_allclose(found, arrays["output_random"].reshape(2, -1), atol=ATOL, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_outputs_of_the_layers_are_those_of_the_authors_layers(reference: Path, case: str) -> None:
    generator, wanted = official(reference, case), golden(reference, f"{case}_intermediates")
    found = outputs_of_layers(generator, mels(golden(reference, f"{case}_io")["input"]))
    assert wanted
    for name, array in wanted.items():
        is_channels_last = name in ("norm", "final_layer_norm", "head.out")
        theirs = array if is_channels_last else array.transpose(0, 2, 1)
        np.testing.assert_allclose(found[layer_name(name, case=case)], theirs, atol=ATOL, rtol=1e-5, err_msg=name)


def layer_name(name: str, *, case: str) -> str:
    """The full name of a layer that the golden file names by its place in the backbone, or in a list of lists."""
    if case.startswith("vocos") and not name.startswith("head."):
        return f"backbone.{name}"
    return f"{name}.0" if case.startswith("bigvgan") and name.startswith("ups.") else name


def outputs_of_layers(generator: Generator, mel: tf.Tensor) -> dict[str, np.ndarray]:
    """The output of each layer by its name."""
    outputs: dict[str, np.ndarray] = {}
    for layer in generator._flatten_layers(include_self=False):

        def heard(*inputs: tf.Tensor, name: str = layer.name, call=layer.call) -> tf.Tensor:
            output = call(*inputs)
            outputs[name] = output.numpy()
            return output

        layer.call = heard
    generator.call(mel)
    return outputs


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_output_depends_on_no_frame_beyond_the_context_and_on_some_near_its_ends(reference: Path, case: str) -> None:
    """By brute force: one frame is changed, and the samples that change are found."""
    generator = official(reference, case)
    hop, context = generator.config.hop_samples, generator.context_frames
    frames = 2 * context + 9
    mel = np.random.default_rng(1).normal(-5.0, 2.0, (1, frames, n_mels(case)))
    changed = mel.copy()
    changed[:, frames // 2] += 3.0
    one, other = (generator.call(tf.constant(value, tf.float32)).numpy()[0] for value in (mel, changed))
    (touched,) = np.nonzero(np.abs(one - other) > 1e-7)
    first, last = touched[0] // hop - frames // 2, touched[-1] // hop - frames // 2
    assert max(-first, last) <= context
    assert max(-first, last) >= context // 2, "the context is far larger than what an output depends on"


def test_the_filter_and_the_activation_between_resamplings_are_those_of_the_authors(reference: Path) -> None:
    arrays = golden(reference, "bigvgan_generator/antialiased_activation")
    for name in ("filter_up", "filter_down"):
        np.testing.assert_allclose(low_pass_filter(), arrays[name].reshape(-1), atol=1e-7)
    x = mels(arrays["input"])
    activation = AntiAliasedSnake(5, has_beta=True, is_logarithmic=True, name="activation")
    activation.act.alpha.assign(arrays["alpha_log"])
    activation.act.beta.assign(arrays["beta_log"])
    for found, name in (
        (upsample(x), "upsampled"),
        (downsample(x), "downsample_of_input"),
        (activation.act(x), "snakebeta_of_input"),
        (activation(x), "output"),
    ):
        np.testing.assert_allclose(found.numpy().transpose(0, 2, 1), arrays[name], atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_weights_are_given_back_as_they_were_set(reference: Path, case: str) -> None:
    generator = official(reference, case)
    weights = get_weights(generator)
    other = make_generator(generator.config, n_mels=n_mels(case))
    set_weights(other, weights, source=case)
    for name, value in get_weights(other).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case, (_, files) in KINDS.items() if len(files) == 2])
def test_folded_weights_are_those_that_pytorch_folds(reference: Path, case: str) -> None:
    found = get_weights(official(reference, case, weights=NORMED))
    wanted = generator_weights(golden(reference, f"{case}_{FOLDED}"), source=case)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("size", "hop", "count"), [(8, 2, 5), (7, 3, 4), (5, 4, 3), (4, 4, 2), (9, 2, 1)])
def test_overlapped_frames_are_summed_as_in_a_loop(size: int, hop: int, count: int) -> None:
    frames = np.random.default_rng(1).normal(size=(2, count, size)).astype(np.float32)
    length = (count - 1) * hop + size
    expected = np.zeros((2, length), np.float32)
    for number in range(count):
        expected[:, number * hop : number * hop + size] += frames[:, number]
    found = tf.reshape(overlap_add(tf.constant(frames), hop=hop), [2, -1]).numpy()
    np.testing.assert_allclose(found[:, :length], expected, atol=1e-6)
    assert not found[:, length:].any()
