"""The settings of a vocoder's training: the content of `configs/vocoder_*.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic

from shared.config import Config
from trainer.config.optim_config import OptimizerConfig
from trainer.config.vocoder_config import GeneratorConfig, VocosConfig

Several = Annotated[tuple[pydantic.PositiveInt, ...], pydantic.Field(min_length=1, max_length=8)]
UpToEight = Annotated[tuple[pydantic.PositiveInt, ...], pydantic.Field(max_length=8)]
Transform = Annotated[int, pydantic.Field(ge=16, le=1 << 16)]  # length of a Fourier transform in samples
Transforms = Annotated[tuple[Transform, ...], pydantic.Field(min_length=1, max_length=8)]
UpToEightTransforms = Annotated[tuple[Transform, ...], pydantic.Field(max_length=8)]
MAX_SCALE = 64
OfSevenLayers = Annotated[tuple[pydantic.PositiveInt, ...], pydantic.Field(min_length=7, max_length=7)]


class DiscriminatorConfig(Config):
    """The section `discriminators`: multi-period, multi-scale (HiFi-GAN) and multi-resolution (UnivNet) ones."""

    periods: UpToEight = (2, 3, 5, 7, 11)  # samples; []: no discriminator of this kind
    scales: UpToEight = ()  # factors of the rate, 1, 2, 4 …; HiFi-GAN has [1, 2, 4]
    resolutions: UpToEightTransforms = (512, 1024, 2048)  # lengths of the Fourier transforms
    period_channels: Several = (32, 128, 512, 1024, 1024)  # of the layers over periods
    scale_channels: OfSevenLayers = (128, 128, 256, 512, 1024, 1024, 1024)  # of the layers over scales
    resolution_channels: int = pydantic.Field(32, ge=1, le=1024)  # of every layer over spectra
    resolution_weight: float = pydantic.Field(1.0, ge=0)  # in the generator's loss, where the others have 1

    @pydantic.model_validator(mode="after")
    def _has_discriminators(self) -> DiscriminatorConfig:
        if not (self.periods or self.scales or self.resolutions):
            raise ValueError("periods, scales and resolutions are empty; expected a discriminator of one kind at least")
        if wrong := [scale for scale in self.scales if scale.bit_count() != 1 or scale > MAX_SCALE]:
            raise ValueError(f"scales: {wrong[0]} is no power of two up to {MAX_SCALE}")
        for name in ("periods", "scales", "resolutions"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name}: a number occurs twice")
        return self


class VocoderLossConfig(Config):
    """The section `loss`: the generator's loss is the weighted sum of its terms."""

    adversarial: Literal["least_squares", "hinge"] = "hinge"  # HiFi-GAN's, Vocos's
    adversarial_weight: float = pydantic.Field(1.0, ge=0)  # of what the discriminators say
    feature_weight: float = pydantic.Field(2.0, ge=0)  # feature matching, a sum over the discriminators' layers
    mel_weight: float = pydantic.Field(45.0, ge=0)  # of the difference in ln mel
    mel_resolutions: Transforms = (512, 1024, 2048)  # lengths of the Fourier transforms of the mel and STFT losses
    stft_weight: float = pydantic.Field(0.0, ge=0)  # of the difference in ln magnitude; 0: not computed
    periodicity_weight: float = pydantic.Field(0.0, ge=0)  # of the difference in autocorrelation; 0: not computed


class VocoderOptimizerConfig(OptimizerConfig):
    """The section `optimizer`: of the generator, and of the discriminators, which have no moving average."""

    learning_rate: float = pydantic.Field(5e-4, gt=0)  # peak of the schedule
    warmup_steps: int = pydantic.Field(0, ge=0)  # linear rise of the rate from 0 to its peak
    beta_1: float = pydantic.Field(0.8, gt=0, lt=1)  # decay of the first moment
    beta_2: float = pydantic.Field(0.9, gt=0, lt=1)  # decay of the second moment
    clip_norm: float = pydantic.Field(10.0, gt=0)  # global norm
    ema_decay: float = pydantic.Field(0.999, ge=0, lt=1)  # of the moving average of the generator's weights; 0: none


class VocoderTrainConfig(Config):
    """All settings of a vocoder's training, by section."""

    generator: GeneratorConfig = VocosConfig()
    discriminators: DiscriminatorConfig = DiscriminatorConfig()
    loss: VocoderLossConfig = VocoderLossConfig()
    optimizer: VocoderOptimizerConfig = VocoderOptimizerConfig()
    init_from: str | None = None  # path of a vocoder file whose weights the generator begins with; None: new weights
    mels: str | None = None  # folder of predicted mels that the generator gets; None: the recordings' own mels
    segment_frames: int = pydantic.Field(64, ge=8, le=4096)  # length of the segments that are cut out of clips
    batch_size: int = pydantic.Field(16, ge=1, le=4096)  # segments
    validation_clips: int = pydantic.Field(8, ge=1, le=1000)  # whole clips of the validation split
    steps: int = pydantic.Field(1_000_000, ge=1)  # length of the run
    pretrain_mel_steps: int = pydantic.Field(0, ge=0)  # first steps without discriminators
    log_every: int = pydantic.Field(50, ge=1)  # interval of logged metrics
    validate_every: int = pydantic.Field(1_000, ge=1)  # interval of validations
    checkpoint_every: int = pydantic.Field(1_000, ge=1)  # interval of checkpoints
    kept_checkpoints: int = pydantic.Field(3, ge=1)  # latest checkpoints that are kept, besides the best
    xla: bool = True  # compile the step; false runs the same graph uncompiled
    seed: int = pydantic.Field(1, ge=0, lt=2**31)  # of weights and segments

    def is_due(self, step: int, *intervals: int) -> bool:
        """True after step `step` for an action that is taken at each of these intervals and at the end of the run."""
        return step == self.steps or any(step % interval == 0 for interval in intervals)

    @pydantic.model_validator(mode="after")
    def _has_no_microbatches(self) -> VocoderTrainConfig:
        if self.optimizer.microbatches != 1:
            raise ValueError("optimizer.microbatches: a vocoder's batch is not divided; lower batch_size instead")
        return self

    @pydantic.model_validator(mode="after")
    def _segments_hold_periods(self) -> VocoderTrainConfig:
        samples = self.segment_frames * self.generator.hop_samples
        if long := [period for period in self.discriminators.periods if period > samples // 2]:
            raise ValueError(
                f"discriminators.periods: {long[0]}; a segment has {samples} samples, expected half at most"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _compiles_scales(self) -> VocoderTrainConfig:
        if self.discriminators.scales and not self.xla:
            raise ValueError("discriminators.scales: TensorFlow has no gradient for them on the CPU without xla: true")
        return self
