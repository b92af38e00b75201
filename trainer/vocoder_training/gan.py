"""A vocoder in training: a generator, its discriminators, and their optimizers."""

from __future__ import annotations

from typing import NamedTuple

import keras

from shared.features import FeatureSpec
from trainer.config.schedule_config import Schedule
from trainer.config.vocoder_train_config import VocoderTrainConfig
from trainer.optim.adamw import AdamW
from trainer.vocoder.vocoder_file import Generator, make_generator
from trainer.vocoder_training.discriminators import Discriminator, make_discriminators


class Gan(keras.Model):
    """The networks, whose weights a checkpoint holds together."""

    def __init__(self, config: VocoderTrainConfig, *, spec: FeatureSpec):
        super().__init__(name="gan")
        self.generator: Generator = make_generator(config.generator, n_mels=spec.n_mels)
        self.discriminators: list[Discriminator] = make_discriminators(config.discriminators)
        self.built = True

    @property
    def discriminator_variables(self) -> list[keras.Variable]:
        return [variable for one in self.discriminators for variable in one.trainable_variables]


class RateScales(NamedTuple):
    """The factors of both learning rates."""

    generator: keras.Variable
    discriminators: keras.Variable

    def assign(self, value: float) -> None:
        """Set both."""
        for one in self:
            one.assign(value)


class GanOptimizer:
    """The optimizers of the generator and of the discriminators; to checkpoints and recovery they are one."""

    def __init__(self, config: VocoderTrainConfig, *, gan: Gan):
        without_average = config.optimizer.model_copy(update={"ema_decay": 0.0})
        self.generator = AdamW(config.optimizer, steps=config.steps, variables=gan.generator.trainable_variables)
        steps = max(1, config.steps - config.pretrain_mel_steps)
        self.discriminators = AdamW(without_average, steps=steps, variables=gan.discriminator_variables)

    def state(self) -> dict[str, keras.Variable]:
        """The variables that a checkpoint needs besides the weights, by name."""
        of_discriminators = {f"discriminators/{name}": one for name, one in self.discriminators.state().items()}
        return self.generator.state() | of_discriminators

    @property
    def schedule(self) -> Schedule:
        """The learning-rate schedule of both."""
        return self.generator.schedule

    @property
    def rate_scale(self) -> RateScales:
        return RateScales(self.generator.rate_scale, self.discriminators.rate_scale)

    @property
    def skipped_in_row(self) -> int:
        """The number of latest consecutive steps without an update of either."""
        return max(self.generator.skipped_in_row, self.discriminators.skipped_in_row)

    def rate_with_steps(self, steps: int) -> float:
        """The learning rate of the next update if the run had `steps` steps."""
        return self.generator.rate_with_steps(steps)

    def scale_rate(self, factor: float) -> None:
        """Multiply the learning rates of all later steps."""
        for one in (self.generator, self.discriminators):
            one.scale_rate(factor)

    def restart_schedule(self) -> None:
        """Restart the schedules at the next step."""
        for one in (self.generator, self.discriminators):
            one.restart_schedule()
