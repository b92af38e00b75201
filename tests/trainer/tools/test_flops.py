"""The operations of a training step by formula, beside those that are counted in its program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench.hlo import hlo_flops
from tests.trainer.config.test_model_sizes import UNEVEN
from tests.trainer.models import M, perturbed_pico, random_batch
from trainer.config.loss_config import LossConfig
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.config.optim_config import OptimizerConfig
from trainer.data.bucket_types import Bucket
from trainer.optim.adamw import AdamW
from trainer.tools.flops import step_flops
from trainer.training.train_step import TrainStep


def counted(bucket: Bucket, *, frames_per_step: int = 4, **options: object) -> tuple[int, ModelConfig]:
    """Operations in the HLO that a step is before XLA makes anything of it; nothing is compiled."""
    model = perturbed_pico(frames_per_step, **options)
    optimizer = AdamW(OptimizerConfig(), steps=10, variables=model.trainable_variables)
    step = TrainStep(model, optimizer, losses=LossConfig(), seed=1)
    clips, frames, tokens = bucket
    batch = random_batch(frames=[frames] * clips, token_counts=[tokens] * clips, width=frames, tokens=tokens)
    return hlo_flops(step._program.experimental_get_compiler_ir(batch)(stage="hlo")), model.config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bucket", "options"),
    [
        (Bucket(2, 24, 8), {}),
        pytest.param(Bucket(3, 40, 16), {"style_tokens": 10, "positions": "rotary"}, marks=pytest.mark.soak),
    ],
    ids=["shorter than two crops", "style and rotary"],
)
def test_the_formula_counts_each_product_of_the_program(bucket: Bucket, options: dict) -> None:
    found, config = counted(bucket, **options)
    assert step_flops(config, bucket, n_mels=M) == found


@pytest.mark.soak
def test_the_formula_takes_no_width_or_length_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten steps of three frames, 14 tokens, nine positions of a crop."""
    monkeypatch.setitem(SIZES, "pico", UNEVEN)
    bucket = Bucket(5, 30, 14)
    found, config = counted(bucket, frames_per_step=3, crop_frames=18, style_tokens=10)
    assert step_flops(config, bucket, n_mels=M) == found


def test_the_documentation_has_the_operations_of_each_size() -> None:
    """20 clips of 800 frames and 128 tokens."""
    table = Path("docs/training.md").read_text(encoding="utf-8")
    for size in SIZES:
        tera = 1e-12 * step_flops(ModelConfig.model_validate({"size": size}), Bucket(20, 800, 128), n_mels=80)
        assert re.search(rf"\| `{size}`[^|]*\|.* M \| {tera:.{2 if tera < 1 else 1}f} \|\n", table), (size, tera)


def test_products_and_convolutions_are_counted_one_by_one() -> None:
    """By hand; of the 12 places of a convolution over four values padded by one at both ends, 10 meet a value."""
    text = """
  %a = f32[3,7]{1,0} parameter(0)
  b.1 = f32[7,5]{1,0} parameter(1)
  %c = f32[3,5]{1,0} dot(f32[3,7]{1,0} %a, b.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x = f32[2,4,6]{2,1,0} parameter(2)
  k = f32[3,6,8]{2,1,0} parameter(3)
  y = f32[2,4,8]{2,1,0} convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
  unused = f32[3,5]{1,0} dot(%a, b.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT both = (f32[3,5]{1,0}, f32[2,4,8]{2,1,0}) tuple(f32[3,5]{1,0} %c, f32[2,4,8]{2,1,0} y)
"""
    assert hlo_flops(text) == 2 * (3 * 5 * 7 + 10 * 2 * 6 * 8)
