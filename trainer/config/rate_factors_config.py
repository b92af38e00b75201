"""Settings of parts of the network that learn more slowly than the others, or not at all."""

from __future__ import annotations

import pydantic

from shared.config import Config


class RateFactorsConfig(Config):
    """The section `rate_factors`: factors of the learning rate of the network's parts; 0 freezes a part."""

    text_encoder: float = pydantic.Field(1.0, ge=0, le=100)  # the embedding of tokens too
    reference_encoder: float = pydantic.Field(1.0, ge=0, le=100)  # of voices
    decoder: float = pydantic.Field(1.0, ge=0, le=100)  # the post-net too

    @property
    def frozen(self) -> list[str]:
        """The names of the parts that do not learn."""
        return [name for name, factor in self if factor == 0]

    @pydantic.model_validator(mode="after")
    def _something_learns(self) -> RateFactorsConfig:
        if len(self.frozen) == len(type(self).model_fields):
            raise ValueError("every part is 0, so that nothing would learn")
        return self
