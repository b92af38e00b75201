"""Parts of the network that are frozen or learn slowly, in real training steps without compilation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.trainer.models import perturbed_narrow, random_batch
from trainer.checkpoint.checkpoint import named_variables
from trainer.config.loss_config import LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.config.rate_factors_config import RateFactorsConfig
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW
from trainer.optim.part_rates import freeze, variable_factors
from trainer.training.train_step import TrainStep

PARTS = ("text_encoder", "reference_encoder", "decoder")


def trained(
    factors: RateFactorsConfig, *, parts: int = 1, adaptive: bool = False, **model: object
) -> tuple[XTTS, AdamW]:
    """A model after two steps, with an average of its weights."""
    network = perturbed_narrow(dropout=0.0, reference_dropout=0.0, **model)
    freeze(network, factors=factors)
    optimizer = AdamW(
        OptimizerConfig(learning_rate=0.01, warmup_steps=0, ema_decay=0.5),
        steps=10,
        variables=network.trainable_variables,
        rate_factors=variable_factors(network, factors=factors),
    )
    losses = LossConfig(adaptive=adaptive)
    step = TrainStep(network, optimizer, losses=losses, seed=1, parts=parts, xla=False)
    for seed in range(2):
        values = step(random_batch(frames=[24, 20], token_counts=[6, 5], width=24, tokens=8, seed=seed))
        assert np.isfinite(values["loss"])
    return network, optimizer


def moved(network: XTTS) -> dict[str, float]:
    """The largest change of a weight in each part."""
    before = {
        variable.path: variable.numpy() for variable in perturbed_narrow(dropout=0.0, reference_dropout=0.0).variables
    }
    return {
        part: max(float(np.abs(one.numpy() - before[one.path]).max()) for one in getattr(network, part).variables)
        for part in PARTS
    }


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
@pytest.mark.parametrize(
    ("frozen", "options"),
    [("text_encoder", {}), ("decoder", {"parts": 2}), ("reference_encoder", {"rematerialise": True})],
    ids=["plain", "microbatches", "rematerialised"],
)
def test_a_frozen_part_keeps_its_weights_and_has_no_moments(frozen: str, options: dict) -> None:
    network, optimizer = trained(RateFactorsConfig(**{frozen: 0.0}), **options)
    changes = moved(network)
    assert changes.pop(frozen) == 0.0
    assert all(change > 1e-3 for change in changes.values())
    own = {variable.path for variable in getattr(network, frozen).variables}
    assert not [name for name in optimizer.state() if name.rpartition("/")[0] in own]
    assert own < {name.removeprefix("model/") for name in named_variables(network, optimizer)}


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
def test_a_part_with_a_small_factor_learns_so_much_more_slowly() -> None:
    full, slow = (moved(trained(RateFactorsConfig(reference_encoder=factor))[0]) for factor in (1.0, 0.01))
    assert slow["reference_encoder"] == pytest.approx(0.01 * full["reference_encoder"], rel=0.5)
    assert slow["decoder"] == pytest.approx(full["decoder"], rel=0.5)


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
def test_adaptive_weights_are_found_beside_a_frozen_decoder() -> None:
    network, _ = trained(RateFactorsConfig(decoder=0.0), adaptive=True)
    assert len(network.decoder.last_shared) == 2
    assert moved(network)["text_encoder"] > 1e-3


def test_a_frozen_part_that_is_the_only_one_is_refused() -> None:
    with pytest.raises(ValueError, match="every part is 0, so that nothing would learn"):
        RateFactorsConfig(text_encoder=0, reference_encoder=0, decoder=0)
    assert RateFactorsConfig(text_encoder=0).frozen == ["text_encoder"]
