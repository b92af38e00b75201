"""`myxtts-train vocoder convert`, with weights of the authors' modules (`../shared/golden`) as PyTorch's reader gives
them. `tests/trainer/vocoder/test_torch_file.py` reads PyTorch's files themselves."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from shared.errors import UserError
from tests.trainer.vocoder.test_official_config import MELS_24K, VOCOS
from trainer.tools import convert_vocoder as tool
from trainer.vocoder.vocoder_file import read_vocoder

CASES = {
    "hifigan_generator/resblock1_v1style": "state_dict_weight_norm",
    "bigvgan_generator/v2_clamp_nobias": "state_dict_weight_norm",
    "vocos_generator/center": "state_dict",
}


@pytest.fixture
def checkpoint(reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a checkpoint's config, and a file whose weights PyTorch's reader finds."""

    def written(case: str, **changes: np.ndarray | None) -> Path:
        facts = json.loads(str(np.load(reference / "golden" / f"{case}_io.npz")["config_json"]))
        if case.startswith("vocos"):
            sizes = {key: facts[key] for key in ("dim", "intermediate_dim", "num_layers")}
            document = VOCOS | {"backbone": {"init_args": sizes}}
            (tmp_path / "config.yaml").write_text(yaml.safe_dump(document), "utf-8")
        else:
            (tmp_path / "config.json").write_text(json.dumps(facts), "utf-8")
        weights = {**np.load(reference / "golden" / f"{case}_{CASES[case]}.npz"), **changes}
        given = {name: value for name, value in weights.items() if value is not None}
        monkeypatch.setattr(tool, "read_torch_weights", lambda path: given)
        (tmp_path / "generator.pt").write_bytes(b"weights")
        return tmp_path / "generator.pt"

    return written


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_converted_checkpoint_gives_the_authors_samples(
    reference: Path, tmp_path: Path, checkpoint: Callable, command: Callable, case: str
) -> None:
    source, out = checkpoint(case), tmp_path / "vocoder.safetensors"
    outcome = command("vocoder", "convert", source, "--out", out, "--licence", "MIT")
    assert outcome.code == 0, outcome.err
    arrays = np.load(reference / "golden" / f"{case}_io.npz")
    generator, info = read_vocoder(out)
    found = generator.call(arrays["input_random"][:1].transpose(0, 2, 1))
    np.testing.assert_allclose(found, arrays["output_random"][:1].reshape(1, -1), atol=1e-5, rtol=0)
    assert (info.source, info.licence) == ("generator.pt", "MIT")
    assert info.source_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert f"{out}: {info.generator.kind}, " in outcome.out
    assert f"for mels of {info.features.name}; licence: MIT" in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"conv_pre.bias": None}, "weights missing: conv_pre.bias"),
        ({"mpd.discriminators.0.bias": np.zeros(1, np.float32)}, "not of this generator: mpd.discriminators.0.bias"),
        ({"ups.0.0.bias": np.zeros(7, np.float32)}, "of other shapes: ups.0.0.bias"),
        (
            {"activation_post.upsample.filter": np.zeros([1, 1, 12], np.float32)},
            "activation_post.upsample.filter is another filter than BigVGAN's",
        ),
        (
            {"activation_post.upsample.filter": np.zeros([1, 1, 5], np.float32)},
            "activation_post.upsample.filter is another filter than BigVGAN's",
        ),
        (  # whose product with the gains would have 10 billion values
            {"x.weight_g": np.ones([100_000, 1, 1], np.float32), "x.weight_v": np.ones([1, 100_000, 1], np.float32)},
            "x.weight_g has the shape [100000, 1, 1], its filters [1, 100000, 1]",
        ),
    ],
)
def test_a_checkpoint_of_another_generator_is_refused_and_nothing_is_written(
    tmp_path: Path, checkpoint: Callable, command: Callable, changes: dict, words: str
) -> None:
    source = checkpoint("bigvgan_generator/v2_clamp_nobias", **changes)
    outcome = command("vocoder", "convert", source, "--out", tmp_path / "out.safetensors")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith(f"error: {source}: ")
    assert words in outcome.err
    assert not (tmp_path / "out.safetensors").exists()


def test_without_a_licence_the_file_says_that_it_is_not_stated(tmp_path: Path, checkpoint: Callable) -> None:
    source = checkpoint("vocos_generator/center")
    converted = tool.convert_vocoder(source, config=None, out=tmp_path / "v.safetensors", licence=None)
    assert converted.info.licence == tool.UNKNOWN_LICENCE


def test_frames_of_mels_that_the_generator_does_not_make_are_refused(tmp_path: Path, checkpoint: Callable) -> None:
    source = checkpoint("bigvgan_generator/v2_clamp_nobias")
    document = json.loads((tmp_path / "config.json").read_text("utf-8"))
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document | MELS_24K | {"hop_size": 512}), "utf-8")
    with pytest.raises(
        UserError,
        match=r"other.json: its generator does not fit its mels: generator: hop_samples is 256, the mels have",
    ):
        tool.convert_vocoder(source, config=other, out=tmp_path / "v.safetensors", licence=None)


def test_another_suffix_is_refused_before_anything_is_read(command: Callable, tmp_path: Path) -> None:
    outcome = command("vocoder", "convert", tmp_path / "none.pt", "--out", tmp_path / "vocoder.pt")
    assert (outcome.code, outcome.err) == (
        2,
        f"error: {tmp_path}/vocoder.pt: expected the name of a .safetensors file\n",
    )


def test_without_pytorch_the_command_says_how_to_get_it(
    tmp_path: Path, checkpoint: Callable, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = checkpoint("vocos_generator/center")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", None)
    outcome = command("vocoder", "convert", source, "--out", tmp_path / "vocoder.safetensors")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith(
        "error: PyTorch is needed to read its files: `pip install torch --index-url https://download.pytorch.org/whl/cpu`"
    )
