"""How many weights a size has, and the table of the design."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.models import perturbed_pico
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES, ModelDims, StackDims
from trainer.model.xtts import XTTS


def parameters(model: XTTS) -> int:
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)


VOCABULARY, BANDS, R, LATENTS, STYLE = 8_000, 80, 4, 32, 256
COUNTS = {
    "pico": 1_554_337,
    "nano": 6_810_849,
    "tiny": 88_310_305,
    "small": 247_405_217,
    "normal": 713_706_785,
    "big": 1_583_067_937,
}
# no two widths or depths are alike, nor a width as the bands or the vocabulary: one in another's place would show
UNEVEN = ModelDims(StackDims(24, 3), StackDims(36, 1), StackDims(28, 2), speaker=12, prenet=20, postnet=44)


def counted(size: ModelDims, *, vocabulary: int, bands: int, r: int, style_tokens: int = 0) -> int:
    """Weights by the layers' widths alone: nothing is built, so a billion of them cost nothing."""

    def dense(inputs: int, outputs: int) -> int:
        return inputs * outputs + outputs

    def attention(width: int, memory: int) -> int:
        return 2 * width * width + 2 * memory * width

    def feed_forward(width: int) -> int:
        return dense(width, 4 * width) + dense(4 * width, width)

    def encoder(stack: StackDims) -> int:
        d = stack.width
        return stack.layers * (attention(d, d) + feed_forward(d) + 4 * d) + 2 * d

    text, audio, d = size.text_encoder.width, size.reference_encoder.width, size.decoder.width
    resampler = LATENTS * audio + 2 * (attention(audio, audio) + feed_forward(audio) + 4 * audio) + 2 * audio
    voice = dense(3 * bands, audio) + encoder(size.reference_encoder) + resampler + dense(audio, size.speaker)
    voice += LATENTS * audio + size.speaker
    if style_tokens:
        voice += style_tokens * STYLE + 4 * STYLE**2 + dense(audio, STYLE) + dense(STYLE, audio) + audio
    prenet = dense(r * bands, size.prenet) + dense(size.prenet, size.prenet) + dense(size.prenet, d)
    blocks = size.decoder.layers * (2 * attention(d, d) + feed_forward(d) + 6 * d) + 2 * d
    heads = dense(d, 2 * r * bands) + dense(d, 1) + dense(bands, size.prenet) + dense(size.prenet, bands)
    w = size.postnet
    postnet = dense(5 * bands, w) + 3 * dense(5 * w, w) + 4 * 2 * w + dense(5 * w, bands)
    decoder = dense(text, d) + dense(audio, d) + dense(size.speaker, d) + prenet + blocks + heads + postnet
    return vocabulary * text + encoder(size.text_encoder) + voice + decoder


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"style_tokens": 10}])
def test_the_count_is_that_of_a_model_that_was_built(models: Callable[..., XTTS], options: dict) -> None:
    assert parameters(models(4, **options)) == counted(SIZES["pico"], vocabulary=40, bands=16, r=4, **options)


@pytest.mark.slow
def test_the_count_takes_no_width_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", UNEVEN)
    built = parameters(perturbed_pico(3, style_tokens=10))
    assert built == counted(UNEVEN, vocabulary=40, bands=16, r=3, style_tokens=10)


def test_each_size_has_so_many_parameters_with_8000_tokens_and_80_bands() -> None:
    found = {name: counted(size, vocabulary=VOCABULARY, bands=BANDS, r=R) for name, size in SIZES.items()}
    assert found == COUNTS


def test_the_documentation_says_how_many_parameters_a_size_has() -> None:
    table = Path("docs/training.md").read_text(encoding="utf-8")
    for name, count in COUNTS.items():
        assert re.search(rf"\| `{name}`[^|]*\|.*\| {count / 1e6:,.1f} M \|", table), (name, count / 1e6)


def test_the_sizes_are_those_of_the_design() -> None:
    found = {
        name: (*size.text_encoder, *size.reference_encoder, *size.decoder, size.speaker) for name, size in SIZES.items()
    }
    found.pop("pico")
    found.pop("nano")
    assert found == {
        "tiny": (256, 4, 256, 4, 768, 8, 256),
        "small": (384, 6, 512, 6, 1024, 12, 320),
        "normal": (512, 8, 768, 8, 1536, 16, 512),
        "big": (768, 10, 1024, 10, 2048, 20, 640),
    }
    assert ModelConfig().size == "normal"
    for size in SIZES.values():
        for stack in (size.text_encoder, size.reference_encoder, size.decoder):
            assert stack.heads * 64 == stack.width
