"""All weights exist before the first input, under the names that they have in checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from tests.trainer.models import decode, random_batch, random_mel
from trainer.model.xtts import XTTS

NAMES = {
    "decoder/mel_mean",
    "decoder/prenet_0/kernel",
    "decoder/block_0/self_attention/key/kernel",
    "decoder/block_0/memory_attention/query/kernel",
    "decoder/postnet/convolution_0/kernel",
    "xtts/text_projection/kernel",
    "xtts/latent_projection/bias",
    "xtts/speaker_projection/kernel",
    "xtts/block_0/memory_attention/key/kernel",
    "xtts/text_encoder/embedding/embeddings",
    "xtts/text_encoder/encoder/block_0/feed_forward/contract/kernel",
    "xtts/audio_encoder/no_speaker",
    "xtts/audio_encoder/convolution/kernel",
    "xtts/audio_encoder/resampler/latents",
    "xtts/audio_encoder/resampler/attention_1/value/kernel",
}
# of all names and shapes in their order, as they were when every layer was run to create its weights
DIGESTS = {0: "ff1ca5d3fe7731cf", 2: "14a5f6add25c185c"}
STYLE = {"xtts/audio_encoder/style/tokens", "xtts/audio_encoder/style/attention/key/kernel"}


@pytest.mark.parametrize(
    ("options", "names"), [({}, NAMES), ({"style_tokens": 3, "positions": "rotary"}, NAMES | STYLE)]
)
def test_a_call_makes_no_weight_and_names_are_those_of_checkpoints(
    narrow_models: Callable[..., XTTS], options: dict, names: set[str]
) -> None:
    model = narrow_models(4, **options)
    before = [variable.path for variable in model.variables]
    decode(model, random_batch(frames=[8], token_counts=[3], width=8, tokens=3), crop=random_mel(1, 8))
    assert [variable.path for variable in model.variables] == before
    assert names <= set(before)
    listed = "\n".join(f"{variable.path} {variable.shape}" for variable in model.variables)
    assert hashlib.sha256(listed.encode()).hexdigest()[:16] == DIGESTS[len(options)], listed
    assert len(set(before)) == len(before)
