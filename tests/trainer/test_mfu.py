"""How much of a GPU training makes use of: measured on a CPU, lest it fail on the first GPU that it meets."""

from __future__ import annotations

import json

import pytest

from tests.bench import gpu, mfu
from tests.bench.shapes import N_MELS
from tests.trainer.models import NARROW
from trainer.flops import step_flops
from trainer.input.staircase import Bucket
from trainer.memory import OutOfMemory
from trainer.model.size import SIZES
from trainer.model.xtts import ModelConfig
from trainer.step import TrainStep

CARD = "NVIDIA H100 80GB HBM3"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)
    for name, value in {"FRAMES": 16, "TOKENS": 4, "STEPS": 2}.items():
        monkeypatch.setattr(mfu, name, value)


@pytest.mark.slow
def test_a_step_in_bfloat16_is_compiled_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mfu, "FIRST_CLIPS", 1)
    (use,) = mfu.measure_use("pico", most_clips=1)
    assert use.bucket == Bucket(1, 16, 4)
    assert use.step_s > 0
    config = ModelConfig.model_validate({"size": "pico"})
    assert config.precision == "bfloat16"
    assert use.flops_per_s * use.step_s == pytest.approx(step_flops(config, use.bucket, n_mels=N_MELS))


@pytest.mark.parametrize(
    ("room", "wanted"), [(21, [8, 16, 20]), (5, [4, 5]), (0, []), (1024, [8, 16, 32, 64, 128, 256, 512, 1024])]
)
def test_batches_grow_up_to_the_largest_that_fits_within_an_eighth(
    room: int, wanted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def step_s(_: TrainStep, bucket: Bucket) -> float:
        if bucket.clips > room:
            raise OutOfMemory(bucket)
        return 0.1

    monkeypatch.setattr(mfu, "_step_s", step_s)
    uses = mfu.measure_use("pico")
    assert mfu.read_uses(json.dumps(uses)) == uses
    assert [use.bucket.clips for use in uses] == wanted
    if uses:
        *others, last = gpu._use_rows(uses, card=CARD)
        flops = step_flops(ModelConfig.model_validate({"size": "pico"}), uses[-1].bucket, n_mels=N_MELS)
        assert uses[-1].share_of(CARD) == pytest.approx(flops / 0.1 / 989e12)
        assert last[2:] == ("≥ 45 %", False)  # the fastest, being the largest in the same time
        assert {row[2:] for row in others} <= {("", None)}


def test_of_a_card_that_is_not_known_only_the_rate_is_told() -> None:
    (row,) = gpu._use_rows([mfu.Use(Bucket(8, 800, 128), 0.5, 2e14)], card="Quadro")
    assert row[1:] == ("unknown (200 T/s, 500 ms)", "≥ 45 %", None)
