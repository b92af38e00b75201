"""Learning rates of the network's parts: which are frozen, and the factor of each variable."""

from __future__ import annotations

from trainer.config.rate_factors_config import RateFactorsConfig
from trainer.model.xtts import XTTS


def freeze(model: XTTS, *, factors: RateFactorsConfig) -> None:
    """Exclude the parts whose factor is 0 from the trainable variables; gradients and moments are then not kept."""
    for name in factors.frozen:
        getattr(model, name).trainable = False


def variable_factors(model: XTTS, *, factors: RateFactorsConfig) -> list[float]:
    """The factor of each trainable variable of a model."""
    changed = {name: factor for name, factor in factors if factor != 1.0}
    by_path = {
        variable.path: factor
        for name, factor in changed.items()
        for variable in getattr(model, name).trainable_variables
    }
    return [by_path.get(variable.path, 1.0) for variable in model.trainable_variables]
